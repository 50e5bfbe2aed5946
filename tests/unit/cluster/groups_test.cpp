// A file of a group of ranks on several nodes, which others open, too.
#include "nodes_fixture.h"
#include "peer/connection.h"

namespace pmio::test {
namespace {

class ClusterGroupTest : public ClusterTest {
 protected:
  ClusterGroupTest() { span_ = kAllRanks + 7; }

  // As the registry of claims asks the group's coordinator: whether the group had the file open.
  Result<bool> contest() {
    const FileIdentity identity = identity_at(path_);
    PeerConnection registry(leaders_[0], token_, 0);
    const auto answer = registry.call(static_cast<uint32_t>(Request::contest),
                                      MessageWriter().put(identity.inode).put(identity.birth_ns).bytes());
    if (!answer.ok()) return answer.status();
    uint64_t was_open = 0;
    EXPECT_TRUE(MessageReader(answer.value()).get(&was_open));
    return was_open != 0;
  }
  static FileIdentity identity_at(const std::string& path) { return identity_of(path).value(); }
  void expect_contest(bool was_open) {
    const Result<bool> said = contest();
    ASSERT_TRUE(said.ok()) << said.status().message();
    EXPECT_EQ(said.value(), was_open);
  }
  // By somebody who knows nothing of the log.
  void write_aside(uint64_t offset, size_t bytes) {
    const auto data = random_bytes(random_, bytes);
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(bytes));
    file.close();
    oracle_.write(offset, data.data(), data.size());
  }
  bool all_drained(uint32_t rank) { return members_[rank].file->reach().is_drained(); }
};

TEST_F(ClusterGroupTest, GivesAFileUpAndGoesOnWithoutTheLog) {
  write_all(1, 1 << 20);
  for (uint32_t rank = 0; rank < kRanks; rank++) write_alone(rank, 1 << 20);
  expect_contest(true);
  expect_file();
  for (uint64_t call = 2; call < 10; call++) {
    write_aside(random_() % (1 << 20), 5000);
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
    write_all(call, 1 << 20);
    expect_file();
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
    write_alone(static_cast<uint32_t>(call % kRanks), 1 << 20);
    expect_file();
  }
  expect_contest(true);
  drain_all();
  expect_file();
}

// Somebody makes the file longer, and shorter.
TEST_F(ClusterGroupTest, SeesTheSizeThatOthersGiveIt) {
  write_all(1, 1 << 20);
  expect_contest(true);
  write_aside(3 << 20, 1000);
  expect_size((3 << 20) + 1000);
  std::filesystem::resize_file(path_, 1000);
  expect_size(1000);
  for (Member& member : members_) member.file->changes().set_known_size(1000);  // as MPI_File_set_size
  write_aside(5000, 1000);
  expect_size(6000);
  write_alone(1, 1);
  std::filesystem::resize_file(path_, 0);
  expect_size(0);
}

// The rank that is ahead waits for nobody; what it has written comes into the file when the others come.
TEST_F(ClusterGroupTest, DoesNotWaitForRanksThatAreBehind) {
  write_all(1, 1 << 20);
  for (uint64_t call = 2; call < 5; call++) write(3, call, 1 << 20);
  expect_contest(true);
  for (uint64_t call = 2; call < 5; call++)
    for (uint32_t rank = 0; rank < kRanks; rank++)
      if (rank != 3) write(rank, call, 1 << 20);
  EXPECT_TRUE(all_drained(3));
  drain_all();
}

TEST_F(ClusterGroupTest, HasNothingToGiveUpOnceItHasClosed) {
  write_all(1, 1 << 20);
  drain_all();
  for (Member& member : members_) {
    ASSERT_TRUE(member.file->closing().release().ok());
    member.file.reset();
  }
  expect_contest(false);
  expect_file();
}

// Not even on a node that has it open with other ranks.
TEST_F(ClusterGroupTest, KeepsOutOtherRanks) {
  for (const uint32_t rank : {0, 3}) {
    Job::OpenOptions options;
    options.path = path_;
    EXPECT_EQ(members_[rank].job->open(options).status().code(), Code::busy);
    EXPECT_TRUE(members_[rank].job->is_open(identity_at(path_), span_));
    EXPECT_FALSE(members_[rank].job->is_open(identity_at(path_), kAllRanks));
    EXPECT_FALSE(members_[rank].job->is_open(identity_at(path_), kThisNode));
  }
}

// Writes go on while the file is given up: none is lost, and later ones are in the file at once.
TEST_F(ClusterGroupTest, GivesAFileUpWhileItIsWritten) {
  constexpr uint64_t kShare = 64 << 10, kWrites = 200;
  std::vector<std::thread> writers;
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    writers.emplace_back([this, rank] {
      for (uint64_t i = 0; i < kWrites; i++) {
        const std::vector<std::byte> data(kShare / kWrites, std::byte(rank + 1));
        ASSERT_TRUE(write_independent(rank, rank * kShare + i * data.size(), data).ok());
      }
    });
  }
  expect_contest(true);
  for (std::thread& writer : writers) writer.join();
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    const std::vector<std::byte> share(kShare / kWrites * kWrites, std::byte(rank + 1));
    oracle_.write(rank * kShare, share.data(), share.size());
  }
  expect_file();
}

}  // namespace
}  // namespace pmio::test
