// A file that all nodes' ranks have open, and one that ranks of a node have open alone: never both at once.
#include "node/control.h"
#include "nodes_fixture.h"

namespace pmio::test {
namespace {

class ClusterKindsTest : public ClusterTest {
 protected:
  ClusterKindsTest() { background_ = true; }  // a thread that completes what lags
  Result<std::shared_ptr<File>> open_alone(uint32_t rank) {
    Job::OpenOptions options;
    options.path = path_;
    return members_[rank].job->open(options);
  }
  void expect_busy(uint32_t rank) { EXPECT_EQ(open_alone(rank).status().code(), Code::busy) << rank; }
  static void append(File& file, const std::string& text) {
    ASSERT_TRUE(file.append(0, reinterpret_cast<const std::byte*>(text.data()), text.size(), 0).ok());
  }
  void close_all() {
    for (uint32_t rank = 0; rank < kRanks; rank++) close(rank);
  }
  void close(uint32_t rank) {
    ASSERT_TRUE(members_[rank].file->closing().release().ok());
    members_[rank].file.reset();
  }
};

TEST_F(ClusterKindsTest, OfAllNodesKeepsOutTheOther) {
  for (const uint32_t rank : {0, 1, 4}) expect_busy(rank);
  close(1);
  expect_busy(1);  // the node's other rank has it open
  const FileIdentity identity = members_[0].file->identity();
  // As a call that is handed on looks for it, on a rank that has just closed it.
  const auto found = members_[1].job->find(identity, path_);
  EXPECT_TRUE(found.ok());
  EXPECT_EQ(*members_[1].job->find(identity, path_), nullptr);
  EXPECT_EQ(members_[1].job->find_here(identity), nullptr);
  EXPECT_EQ(members_[0].job->find_here(identity), members_[0].file);
  EXPECT_TRUE(members_[1].job->is_open(identity, kAllRanks));
  for (const uint32_t rank : {0, 2, 3, 4, 5}) close(rank);
  EXPECT_FALSE(members_[1].job->is_open(identity, kAllRanks));
}

TEST_F(ClusterKindsTest, OfOneNodeKeepsOutTheOther) {
  close_all();
  auto alone = open_alone(1);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  append(**alone, "alone");
  for (const uint32_t rank : {0, 1}) {
    Job::OpenOptions options;
    options.path = path_;
    options.reach = Spanning::over(*members_[rank].cluster);
    EXPECT_EQ(members_[rank].job->open(options).status().code(), Code::busy) << rank;
  }
  ASSERT_TRUE((*alone)->closing().release().ok());
  EXPECT_EQ(contents<std::string>(path_), "alone");
}

// Its control block is kept for the next file then, which is of nobody; and it is of no use to all nodes.
TEST_F(ClusterKindsTest, MayChangeFromOpenToOpen) {
  close_all();
  for (int repeat = 0; repeat < 3; repeat++) {
    auto alone = open_alone(1);
    ASSERT_TRUE(alone.ok()) << alone.status().message();
    const std::string text = "alone" + std::to_string(repeat);
    append(**alone, text);
    const FileIdentity identity = (*alone)->identity();
    ASSERT_TRUE((*alone)->closing().release().ok());
    alone->reset();
    EXPECT_FALSE(members_[0].job->is_open(identity, kThisNode));
    EXPECT_FALSE(members_[1].job->is_open(identity, kThisNode));
    oracle_.write(0, reinterpret_cast<const std::byte*>(text.data()), text.size());
    for (Member& member : members_) open(member);
    write_all(1, 1 << 20);
    drain_all();
    close_all();
    EXPECT_EQ(contents(path_), oracle_.bytes);
  }
}

TEST_F(ClusterKindsTest, TakesRoomForTheRanksOfItsNodeAlone) {
  for (const uint32_t rank : {0U, kRanks - 1}) {
    const std::string control =
        members_[rank].job->directory() + "/file-" + file_key(members_[rank].file->identity());
    EXPECT_EQ(std::filesystem::file_size(control), control_bytes(kRanksOfNode));
  }
}

// An open completes what lags, whoever comes.
TEST_F(ClusterKindsTest, MayChangeWhileItLags) {
  close_all();
  auto alone = open_alone(1);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  append(**alone, "alone");
  ASSERT_TRUE((*alone)->closing().begin_lag());
  (*alone)->closing().release_later();
  ASSERT_TRUE((*alone)->closing().complete().ok());
  alone->reset();
  for (Member& member : members_) open(member);
  EXPECT_EQ(contents<std::string>(path_), "alone");
  close_all();
}

}  // namespace
}  // namespace pmio::test
