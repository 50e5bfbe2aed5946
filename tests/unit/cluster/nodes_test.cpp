// Several nodes in one process, each with jobs, a log directory and a leader of its own: what is read and
// what is in the file.
#include <atomic>
#include <future>
#include <thread>

#include "job/pool.h"
#include "nodes_fixture.h"
#include "span/spanning.h"
#include "support/wrapped_medium.h"

namespace pmio::test {
namespace {

// Has no room for an index, until there is some.
class WithoutRuns : public WrappedMedium {
 public:
  static inline std::atomic<bool> has_room{false};
  using WrappedMedium::WrappedMedium;
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    if (name.starts_with("run-") && !has_room) return Status(Code::no_space, "no room for a run", ENOSPC);
    return real().create(name, size_bytes, lasting);
  }
};

class ClusterWithoutIndexTest : public ClusterTest {
 protected:
  ClusterWithoutIndexTest() {
    open_log_ = open_wrapped<WithoutRuns>();
    WithoutRuns::has_room = false;
  }
  // Of which the first node alone has bytes: so many that who reads would rather have them in a run.
  void write_on_first_node(uint64_t calls) {
    for (uint64_t call = 1; call <= calls; call++) {
      for (uint32_t rank = 0; rank < kRanks; rank++) {
        if (rank < kRanksOfNode) {
          write(rank, call, 100'000);
        } else {
          Spanning::of(*members_[rank].file).begin_call();
          Spanning::of(*members_[rank].file).end_call();
        }
      }
    }
  }
};

// The leader, whose part in the round looks for what it may serve from the log.
TEST_F(ClusterWithoutIndexTest, WhoReadsDrainsWhatCannotBeIndexed) {
  write_on_first_node(300);
  // Whose coordinator is gone: what is up to its cut may be merged from now on.
  ASSERT_TRUE(NodeRound::begin(members_[0].file, call_stamp(301, 0)).ok());
  expect_read(0);
  EXPECT_TRUE(Spanning::of(*members_[1].file).all_drained_here());
  expect_read(1);
  expect_file();
}

// Who reads during the round finds room for what the round has in no run.
TEST_F(ClusterWithoutIndexTest, WhatIsDrainedWithoutARunIsNotServedOrDrainedOnceMore) {
  write_on_first_node(300);
  {
    auto round = NodeRound::begin(members_[0].file, call_stamp(301, 0));
    ASSERT_TRUE(round.ok());
    WithoutRuns::has_room = true;
    expect_read(1);
    NodeRound::Stream stream;
    for (const NodeRound::Window& window : (*round)->windows()) {
      bool overlap = false;
      ASSERT_TRUE((*round)->write(stream, window.number, {}, &overlap).ok());
    }
    ASSERT_TRUE((*round)->sync().ok());
    ASSERT_TRUE((*round)->finish({}).ok());
    (*round)->end();
  }
  expect_file();
  for (Member& member : members_) {  // what follows such a call goes past the log
    Spanning::of(*member.file).begin_call(false);
    Spanning::of(*member.file).end_call();
  }
  const std::vector<std::byte> data(50'000, std::byte{0x5a});
  ASSERT_TRUE(write_independent(kRanks - 1, 1000, data).ok());
  oracle_.write(1000, data.data(), data.size());
  for (const uint32_t rank : {0u, 1u, 3u}) expect_read(rank);
  write(0, 302, 1);
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    Spanning::of(*members_[rank].file).begin_call();
    Spanning::of(*members_[rank].file).end_call();
  }
  drain_all();
  expect_file();
}

struct Sizes {
  uint64_t file, largest_write;  // bytes
};

// With one stream per node, and with three.
class Layouts : public ClusterTest, public testing::WithParamInterface<LayoutHints> {
  void SetUp() override {
    layout_ = GetParam();
    ClusterTest::SetUp();
  }
};

INSTANTIATE_TEST_SUITE_P(OneServerOrNine, Layouts,
                         testing::Values(LayoutHints{}, LayoutHints{1 << 20, 3 * kNodes}));

TEST_P(Layouts, TheNewestCallWins) {
  uint64_t call = 0;
  // A few of the large ones in a window, which then often do not overlap, are written without a copy.
  for (const Sizes& sizes :
       {Sizes{20'000, 5000}, Sizes{10 * kWindowBytes, 5000}, Sizes{10 * kWindowBytes, 300'000}}) {
    const uint64_t file_bytes = sizes.file;
    largest_ = sizes.largest_write;
    for (int round = 0; round < 8; round++) {
      for (uint64_t i = random_() % 5 + 1; i > 0; i--) write_all(++call, file_bytes);
      if (round % 2 == 0) {
        ASSERT_TRUE(drain(static_cast<uint32_t>(random_() % kRanks)).ok());
        expect_file();
      }
      expect_read(static_cast<uint32_t>(random_() % kRanks));
    }
  }
  for (Member& member : members_) EXPECT_TRUE(member.file->closing().release().ok());
}

// A call that some ranks have not come to is not drained, and nobody who has not finished it waits for it.
TEST_F(ClusterTest, ACallThatSomeHaveNotComeToIsLeft) {
  write_all(1, 10'000);
  const auto before = oracle_.bytes;
  write(0, 2, 10'000);
  ASSERT_TRUE(drain(kRanks - 1).ok());
  EXPECT_FALSE(Spanning::of(*members_[0].file).all_drained_here() && same(contents(path_), before));
  for (uint32_t rank = 1; rank < kRanks; rank++) write(rank, 2, 10'000);
  ASSERT_TRUE(drain(0).ok());
  expect_file();
}

// In the order in which they are made here, on whatever node, between collective calls and drains.
TEST_P(Layouts, TheNewestIndependentWriteWins) {
  uint64_t call = 0;
  for (const Sizes& sizes :
       {Sizes{20'000, 5000}, Sizes{10 * kWindowBytes, 5000}, Sizes{10 * kWindowBytes, 50'000}}) {
    const uint64_t file_bytes = sizes.file;
    largest_ = sizes.largest_write;
    const int steps = file_bytes < kWindowBytes ? 300 : 100;
    for (int step = 0; step < steps; step++) {
      const auto rank = static_cast<uint32_t>(random_() % kRanks);
      switch (random_() % 16) {
        case 0:
          write_all(++call, file_bytes);
          break;
        case 1:
          drain_all();
          expect_file();
          break;
        case 2:
          expect_read(rank);
          break;
        default:
          write_alone(rank, file_bytes);
      }
    }
  }
  drain_all();
  for (Member& member : members_) EXPECT_TRUE(member.file->closing().release().ok());
  expect_file();
}

// A handle of its own is handed on: what it reads and writes comes after what is on the other nodes.
TEST_F(ClusterTest, ANodeThatHasLoggedNothingDrainsTheOthers) {
  ASSERT_TRUE(write_independent(0, 1000, std::vector<std::byte>(7000, std::byte{0x5a})).ok());
  EXPECT_TRUE(Spanning::of(*members_[5].file).all_drained_here());
  ASSERT_TRUE(members_[5].file->drain(DrainScope::for_library).ok());
  EXPECT_TRUE(Spanning::of(*members_[0].file).all_drained_here());
}

// What one thread has logged ahead of other ranks must not hold up what another one writes to another file:
// the ranks may wait for that.
TEST_F(ClusterTest, AFileIsNotHeldUpByAnotherThatHasAllOfTheLog) {
  const auto log_has_room = [&] {
    const uint64_t last = kLogBytes / SegmentPool::choose_segment_bytes(kLogBytes) - 1;
    const std::string name = SegmentPool::segment_name(0, static_cast<uint32_t>(last));
    return access((members_[0].job->directory() + "/" + name).c_str(), F_OK) != 0;
  };
  uint64_t calls = 0;
  for (; log_has_room(); calls++) write(0, calls + 1, 1 << 20);
  const std::string path = files_.files_ + "/another";
  std::ofstream(path).flush();
  std::vector<std::shared_ptr<File>> another;
  for (Member& member : members_) another.push_back(opened(member, path, kNumber + 1));
  const std::vector<std::byte> data(7000, std::byte{0x5a});
  const auto write_another = [&] {
    Spanning::of(*another[0]).begin_call();
    Status status = another[0]->append(1000, data.data(), data.size(), CallNumber(0, 1, false));
    Spanning::of(*another[0]).end_call();
    return status;
  };
  auto written = std::async(std::launch::async, write_another);
  EXPECT_EQ(written.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    for (uint64_t call = 1; call <= calls; call++) write(rank, call, 1 << 20);
    Spanning::of(*another[rank]).begin_call();
    Spanning::of(*another[rank]).end_call();
  }
  const Status status = written.get();
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::byte> found(data.size());
  uint64_t got = 0;
  EXPECT_TRUE(another[5]->read(1000, found.data(), found.size(), &got).ok());
  EXPECT_TRUE(got == data.size() && found == data);
}

// Leaders that ask each other what they hold are told by other ranks, meanwhile, to forget what they know.
TEST_F(ClusterTest, WhoAsksCanBeToldToForget) {
  write_all(1, 10'000);
  ASSERT_TRUE(drain(0).ok());
  std::atomic<int> busy{2};
  const auto keep_on = [&](uint32_t rank) {
    std::vector<std::byte> data(100);
    uint64_t got = 0;
    if (rank % kRanksOfNode == 0) {
      while (busy > 0) EXPECT_TRUE(members_[rank].file->read(0, data.data(), data.size(), &got).ok());
      return;
    }
    for (int i = 0; i < 500; i++) {
      members_[rank].file->changes().forget_cache();
      std::this_thread::sleep_for(
          std::chrono::microseconds(500));  // for the questions that are not the first
    }
    busy--;
  };
  std::vector<std::future<void>> all;
  for (uint32_t rank = 0; rank < 2 * kRanksOfNode; rank++)
    all.push_back(std::async(std::launch::async, keep_on, rank));
  for (auto& one : all) EXPECT_EQ(one.wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

// By a handle of one rank alone, which is handed on.
TEST_F(ClusterTest, WhatOneRankCutsIsShorterForAll) {
  write_all(1, 10'000);
  ASSERT_TRUE(drain(0).ok());
  cut(1, 100);
  expect_size(100);
}

TEST_F(ClusterTest, WhatOneRankCutsIsShorterForAllWhileAnotherGoesOn) {
  write_all(1, 10'000);
  ASSERT_TRUE(drain(0).ok());
  const std::vector<std::byte> data(10);
  ASSERT_TRUE(write_independent(1, 0, data).ok());
  cut(2, 100);
  expect_size(100);
  ASSERT_TRUE(write_independent(1, 10, data).ok());
  expect_size(100);
  ASSERT_TRUE(write_independent(1, 95, data).ok());
  expect_size(105);
  drain_all();
  expect_size(105);
  EXPECT_EQ(contents(path_).size(), 105u);
}

// Written, cut off, and counted as drained afterwards.
TEST_F(ClusterTest, WhatIsCutDuringARoundIsNotStillToCome) {
  write_all(1, 10'000);
  ASSERT_TRUE(drain(0).ok());
  const std::vector<std::byte> data(10);
  ASSERT_TRUE(write_independent(1, 20'000, data).ok());
  auto round = NodeRound::begin(members_[0].file, call_stamp(1, Spanning::of(*members_[0].file).clock()));
  ASSERT_TRUE(round.ok());
  ASSERT_EQ((*round)->windows().size(), 1u);
  NodeRound::Stream stream;
  bool overlap = false;
  ASSERT_TRUE((*round)->write(stream, 0, {}, &overlap).ok());
  cut(1, 100);
  ASSERT_TRUE(write_independent(1, 0, data).ok());
  ASSERT_TRUE((*round)->sync().ok());
  ASSERT_TRUE((*round)->finish({}).ok());
  (*round)->end();
  round->reset();
  expect_size(100);
  drain_all();
  expect_size(100);
  EXPECT_EQ(contents(path_).size(), 100u);
}

TEST_F(ClusterTest, SharedPointersAreOfAllNodes) {
  for (int64_t i = 0; i < 10; i++) {
    auto before = members_[static_cast<size_t>(i) % kRanks].cluster->fetch_add(4, 0, 100, 5);
    ASSERT_TRUE(before.ok());
    EXPECT_EQ(*before, 100 + 5 * i);
  }
  ASSERT_TRUE(members_[5].cluster->store(4, 0, 7).ok());
  auto before = members_[1].cluster->fetch_add(4, 0, 100, 1);
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(*before, 7);
}

TEST_F(ClusterTest, LeadersAreReached) {
  for (uint32_t node = 0; node < kNodes; node++) EXPECT_TRUE(members_[3].cluster->reach(node).ok());
}

}  // namespace
}  // namespace pmio::test
