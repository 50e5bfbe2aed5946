// Several nodes in one process, each with jobs, a log directory and a leader of its own: what is read and
// what is in the file, and what becomes of a node that is alone.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "cluster_nodes_fixture.h"
#include "medium/job_name.h"
#include "node/pool.h"
#include "peer/frame.h"
#include "recover/recover.h"

namespace {
std::atomic<int> next_sync_fails{0};  // with this errno, once: so the kernel tells of bytes that are lost
}

extern "C" int fdatasync(int fd) {
  errno = next_sync_fails.exchange(0);
  return errno != 0 ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd));
}

namespace pmio {
namespace {

// Has no room for an index, until there is some.
class WithoutRuns : public Medium {
 public:
  static inline std::atomic<bool> has_room{false};
  explicit WithoutRuns(std::unique_ptr<Medium> medium) : medium_(std::move(medium)) {}
  MediumKind kind() const override { return medium_->kind(); }
  Durability durability() const override { return medium_->durability(); }
  const std::string& directory() const override { return medium_->directory(); }
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    if (name.starts_with("run-") && !has_room) return Status(Code::no_space, "no room for a run", ENOSPC);
    return medium_->create(name, size_bytes, lasting);
  }
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    return medium_->open(name, read_only);
  }
  Status remove(std::string_view name) override { return medium_->remove(name); }
  Result<std::vector<std::string>> list() const override { return medium_->list(); }

 private:
  std::unique_ptr<Medium> medium_;
};

Result<std::unique_ptr<Medium>> open_without_runs(const std::string& directory, Durability durability) {
  auto medium = open_medium(directory, durability);
  if (!medium.ok()) return medium.status();
  return std::unique_ptr<Medium>(new WithoutRuns(std::move(medium).value()));
}

// A region that cannot be synced, while that is so.
class UnsyncedRegion : public Region {
 public:
  static inline std::atomic<bool> fails{false};
  explicit UnsyncedRegion(std::unique_ptr<Region> region) : region_(std::move(region)) {
    data_ = region_->data();
    size_ = region_->size_bytes();
  }
  void copy(size_t offset, const void* source, size_t length) override {
    region_->copy(offset, source, length);
  }
  void flush(size_t offset, size_t length) override { region_->flush(offset, length); }
  Status fence() override { return region_->fence(); }
  Status sync() override { return fails ? Status(Code::io, "cannot sync", EIO) : region_->sync(); }

 private:
  std::unique_ptr<Region> region_;
};

// Of the second node the ledgers are such regions.
class LedgersFail : public Medium {
 public:
  explicit LedgersFail(std::unique_ptr<Medium> medium) : medium_(std::move(medium)) {}
  MediumKind kind() const override { return medium_->kind(); }
  Durability durability() const override { return medium_->durability(); }
  const std::string& directory() const override { return medium_->directory(); }
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    return wrapped(name, medium_->create(name, size_bytes, lasting));
  }
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    return wrapped(name, medium_->open(name, read_only));
  }
  Status remove(std::string_view name) override { return medium_->remove(name); }
  Result<std::vector<std::string>> list() const override { return medium_->list(); }

 private:
  Result<std::unique_ptr<Region>> wrapped(std::string_view name, Result<std::unique_ptr<Region>> region) {
    const bool fails = name.starts_with("ledger-") && directory().ends_with(job_name(kJob | 1));
    if (!region.ok() || !fails) return region;
    return std::unique_ptr<Region>(new UnsyncedRegion(std::move(region).value()));
  }

  std::unique_ptr<Medium> medium_;
};

Result<std::unique_ptr<Medium>> open_with_ledgers_that_fail(const std::string& directory,
                                                            Durability durability) {
  auto medium = open_medium(directory, durability);
  if (!medium.ok()) return medium.status();
  return std::unique_ptr<Medium>(new LedgersFail(std::move(medium).value()));
}

class ClusterWithoutIndexTest : public ClusterTest {
 protected:
  ClusterWithoutIndexTest() {
    open_log_ = open_without_runs;
    WithoutRuns::has_room = false;
  }
  // Of which the first node alone has bytes: so many that who reads would rather have them in a run.
  void write_on_first_node(uint64_t calls) {
    for (uint64_t call = 1; call <= calls; call++) {
      for (uint32_t rank = 0; rank < kRanks; rank++) {
        if (rank < kRanksOfNode) {
          write(rank, call, 100'000);
        } else {
          members_[rank].file->begin_call();
          members_[rank].file->end_call();
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
  EXPECT_TRUE(members_[1].file->all_drained_here());
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
    member.file->begin_call(false);
    member.file->end_call();
  }
  const std::vector<std::byte> data(50'000, std::byte{0x5a});
  ASSERT_TRUE(write_independent(kRanks - 1, 1000, data).ok());
  oracle_.write(1000, data.data(), data.size());
  for (const uint32_t rank : {0u, 1u, 3u}) expect_read(rank);
  write(0, 302, 1);
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    members_[rank].file->begin_call();
    members_[rank].file->end_call();
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
  for (Member& member : members_) EXPECT_TRUE(member.file->release().ok());
}

// A call that some ranks have not come to is not drained, and nobody who has not finished it waits for it.
TEST_F(ClusterTest, ACallThatSomeHaveNotComeToIsLeft) {
  write_all(1, 10'000);
  const auto before = oracle_.bytes;
  write(0, 2, 10'000);
  ASSERT_TRUE(drain(kRanks - 1).ok());
  EXPECT_FALSE(members_[0].file->all_drained_here() && contents(path_) == before);
  for (uint32_t rank = 1; rank < kRanks; rank++) write(rank, 2, 10'000);
  ASSERT_TRUE(drain(0).ok());
  expect_file();
}

TEST_F(ClusterTest, AnIndependentWriteComesAfterWhatItOverlaps) {
  write_all(1, 10'000);
  const std::vector<std::byte> data(7000, std::byte{0x5a});
  const Status status = write_independent(3, 1000, data);
  ASSERT_TRUE(status.ok()) << status.message();
  oracle_.write(1000, data.data(), data.size());
  for (const uint32_t rank : {0u, 2u, 5u}) expect_read(rank);
  write_all(2, 10'000);
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
  for (Member& member : members_) EXPECT_TRUE(member.file->release().ok());
  expect_file();
}

// What is logged of them needs no question any more, and reaches the file with a round that other ranks,
// which have not come as far, do not hold up.
TEST_F(ClusterTest, IndependentWritesAreLogged) {
  const std::vector<std::byte> data(7000, std::byte{0x5a});
  for (uint64_t i = 0; i < 10; i++) {
    for (const uint32_t rank : {0u, 5u}) {
      const uint64_t offset = rank * kWindowBytes + i * data.size();
      ASSERT_TRUE(write_independent(rank, offset, data).ok());
      oracle_.write(offset, data.data(), data.size());
    }
  }
  EXPECT_FALSE(contents(path_) == oracle_.bytes);
  write(1, 1, 10'000);  // the others have not come to this call
  ASSERT_TRUE(drain(5).ok());
  EXPECT_TRUE(members_[5].file->all_drained_here());
  for (uint32_t rank = 0; rank < kRanks; rank++)
    if (rank != 1) write(rank, 1, 10'000);
  expect_read(3);
}

// Who has asked for a whole window is told of what is logged there afterwards.
TEST_F(ClusterTest, IndependentWritesAreSeenByWhoKnowsTheWindow) {
  write_all(1, 10'000);
  std::vector<std::byte> data(8), found(8);
  uint64_t got = 0;
  for (int version = 1; version < 5; version++) {
    for (int i = 0; i < 100; i++)
      ASSERT_TRUE(members_[5].file->read(i * 8, found.data(), found.size(), &got).ok());
    std::fill(data.begin(), data.end(), static_cast<std::byte>(version));
    ASSERT_TRUE(write_independent(static_cast<uint32_t>(version % 4), 80, data).ok());
    ASSERT_TRUE(members_[5].file->read(80, found.data(), found.size(), &got).ok());
    EXPECT_TRUE(found == data) << version;
  }
}

// All nodes at the same windows: some writes are logged, others go to the file, and drains come in between.
TEST_F(ClusterTest, IndependentWritesOfAllRanksAtOnce) {
  constexpr uint64_t kPiece = 700, kPieces = 100;
  const auto go = [&](uint32_t rank) {
    for (uint64_t i = 0; i < kPieces; i++) {
      for (const int version : {1, 2}) {
        const std::vector<std::byte> data(kPiece, static_cast<std::byte>(rank * 16 + i % 8 * 2 + version));
        const uint64_t offset = (i * kRanks + rank) * kPiece;
        EXPECT_TRUE(write_independent(rank, offset, data).ok());
        std::vector<std::byte> found(kPiece);
        uint64_t got = 0;
        EXPECT_TRUE(members_[rank].file->read(offset, found.data(), kPiece, &got).ok());
        EXPECT_TRUE(got == kPiece && found == data);
      }
      if (i % 25 == rank) {
        EXPECT_TRUE(drain(rank).ok());
      }
    }
  };
  std::vector<std::future<void>> all;
  for (uint32_t rank = 0; rank < kRanks; rank++) all.push_back(std::async(std::launch::async, go, rank));
  for (auto& one : all) one.get();
  for (uint64_t piece = 0; piece < kPieces * kRanks; piece++) {
    const uint64_t rank = piece % kRanks, i = piece / kRanks;
    const std::vector<std::byte> data(kPiece, static_cast<std::byte>(rank * 16 + i % 8 * 2 + 2));
    oracle_.write(piece * kPiece, data.data(), kPiece);
  }
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  drain_all();
  expect_file();
}

// A nonblocking collective write is begun by one rank long before another, which is told of what came after.
TEST_F(ClusterTest, WhatFollowsACallThatIsOnlyStartedIsSeenByRanksThatHaveNotStartedIt) {
  std::vector<std::byte> data(100, std::byte{1}), found(100);
  uint64_t got = 0;
  members_[0].file->begin_call(false);
  ASSERT_TRUE(members_[0].file->append(5000, data.data(), data.size(), CallNumber(0, 1, false)).ok());
  members_[0].file->end_call();
  ASSERT_TRUE(write_independent(0, 0, data).ok());
  for (const uint32_t rank : {1u, 5u}) {
    ASSERT_TRUE(members_[rank].file->read(0, found.data(), found.size(), &got).ok());
    EXPECT_TRUE(found == data);
    std::fill(data.begin(), data.end(), static_cast<std::byte>(rank + 1));
    ASSERT_TRUE(write_independent(rank, 0, data).ok());
    ASSERT_TRUE(members_[rank].file->read(0, found.data(), found.size(), &got).ok());
    EXPECT_TRUE(found == data);
  }
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    members_[rank].file->begin_call(false);
    members_[rank].file->end_call();
  }
  drain_all();
  ASSERT_TRUE(members_[3].file->read(0, found.data(), found.size(), &got).ok());
  EXPECT_TRUE(found == data);
}

// Lost are the round's bytes, or those that a rank has written past the log: the round cannot know.
TEST_F(ClusterTest, WhatIsLostIsToldToWhoeverMayHaveWrittenIt) {
  write_all(1, 10'000);
  for (Member& member : members_) {  // what follows such a call goes past the log
    member.file->begin_call(false);
    member.file->end_call();
  }
  auto round = NodeRound::begin(members_[0].file, call_stamp(1, 1));
  ASSERT_TRUE(round.ok());
  next_sync_fails = EIO;
  EXPECT_FALSE(members_[0].file->sync_target().ok());
  EXPECT_EQ((*round)->sync().system_errno(), EIO) << "of which somebody else has been told";
  round->reset();

  ASSERT_TRUE(drain(0).ok());
  round = NodeRound::begin(members_[0].file, call_stamp(1, 1));
  ASSERT_TRUE(round.ok());
  ASSERT_TRUE(write_independent(1, 50'000, std::vector<std::byte>(100)).ok());
  next_sync_fails = EIO;
  EXPECT_EQ((*round)->sync().system_errno(), EIO);
  round->reset();
  for (const uint32_t rank : {0u, 1u}) EXPECT_EQ(members_[rank].file->sync().system_errno(), EIO) << rank;
}

// Of a write past the log that spans windows, one of which other nodes have written to before.
TEST_F(ClusterTest, NoWindowOfAWritePastTheLogIsServedFromAnotherNodesLog) {
  const std::vector<std::byte> old(100, std::byte{1}), later(200, std::byte{2});
  std::vector<std::byte> found(200);
  uint64_t got = 0;
  uint32_t call = 0;
  for (const uint64_t offset : {kWindowBytes - 100, kWindowBytes}) {
    call++;
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      File& file = *members_[rank].file;
      file.begin_call(call == 1);  // what follows one that is only started goes past the log
      if (rank == 5) {
        ASSERT_TRUE(file.append(offset, old.data(), old.size(), CallNumber(0, call, false)).ok());
      }
      file.end_call();
    }
  }
  ASSERT_TRUE(drain(0).ok());
  ASSERT_TRUE(write_independent(3, kWindowBytes, old).ok());
  ASSERT_TRUE(write_independent(3, kWindowBytes - 100, later).ok());
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    ASSERT_TRUE(members_[rank].file->read(kWindowBytes - 100, found.data(), 100, &got).ok());
    EXPECT_EQ(found.front(), later.front()) << rank;
    ASSERT_TRUE(members_[rank].file->read(kWindowBytes - 100, found.data(), 200, &got).ok());
    EXPECT_TRUE(found == later) << rank;
  }
}

// Stamps have so many numbers.
TEST_F(ClusterTest, BeyondTheLastNumberOfACallWritesGoToTheFile) {
  for (Member& member : members_)
    ASSERT_TRUE(member.file->join_nodes({kNumber, kLastCall - 3, 0, 0, 0}).ok());
  for (uint64_t call = 1; call <= 5; call++) {
    write_all(call, 10'000);
    write_alone(static_cast<uint32_t>(call), 10'000);
    expect_read(static_cast<uint32_t>(call - 1));
  }
  drain_all();
  expect_file();
}

// A handle of its own is handed on: what it reads and writes comes after what is on the other nodes.
TEST_F(ClusterTest, ANodeThatHasLoggedNothingDrainsTheOthers) {
  ASSERT_TRUE(write_independent(0, 1000, std::vector<std::byte>(7000, std::byte{0x5a})).ok());
  EXPECT_TRUE(members_[5].file->all_drained_here());
  ASSERT_TRUE(members_[5].file->drain_all_nodes(false).ok());
  EXPECT_TRUE(members_[0].file->all_drained_here());
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
    another[0]->begin_call();
    Status status = another[0]->append(1000, data.data(), data.size(), CallNumber(0, 1, false));
    another[0]->end_call();
    return status;
  };
  auto written = std::async(std::launch::async, write_another);
  EXPECT_EQ(written.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    for (uint64_t call = 1; call <= calls; call++) write(rank, call, 1 << 20);
    another[rank]->begin_call();
    another[rank]->end_call();
  }
  const Status status = written.get();
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::byte> found(data.size());
  uint64_t got = 0;
  EXPECT_TRUE(another[5]->read(1000, found.data(), found.size(), &got).ok());
  EXPECT_TRUE(got == data.size() && found == data);
}

// The nodes' clients have the pages as they were before.
TEST_F(ClusterTest, WhatIsWrittenPastTheLogIsFetchedAnew) {
  for (Member& member : members_) {  // what follows such a call goes past the log
    member.file->begin_call(false);
    member.file->end_call();
  }
  for (uint32_t i = 0; i < 60; i++) {
    write_alone(i % kRanks, 50'000);
    expect_file();
    for (uint32_t reader = 0; reader < kRanks; reader++) expect_read(reader);
  }
}

// By small reads in a row, with which the bytes behind them are read along.
TEST_F(ClusterTest, WhatIsReadAlongIsReadAnewWhenARankOfTheNodeHasWrittenIt) {
  constexpr uint64_t kPiece = 1000, kPieces = 300;
  for (Member& member : members_) {  // what follows such a call goes past the log
    member.file->begin_call(false);
    member.file->end_call();
  }
  const auto write = [&](uint32_t rank, uint64_t offset, uint64_t bytes) {
    const std::vector<std::byte> data = random_bytes(random_, bytes);
    ASSERT_TRUE(write_independent(rank, offset, data).ok());
    oracle_.write(offset, data.data(), data.size());
  };
  write(0, 0, kPiece * kPieces);
  std::vector<std::byte> found(kPiece);
  for (uint64_t i = 0; i < kPieces; i++) {
    uint64_t got = 0;
    ASSERT_TRUE(members_[4].file->read(i * kPiece, found.data(), kPiece, &got).ok());
    ASSERT_TRUE(got == kPiece && std::memcmp(found.data(), &oracle_.bytes[i * kPiece], kPiece) == 0) << i;
    if (i % 7 == 0 && i + 1 < kPieces) write(i % 2 == 0 ? 5 : 4, (i + 1) * kPiece, kPiece);
  }
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
      members_[rank].file->forget_cache();
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
  auto round = NodeRound::begin(members_[0].file, call_stamp(1, members_[0].file->clock()));
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

// One node's part in the rounds, led by the test.
class RoundPartTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    write_all(1, 10'000);
    others_ = std::make_unique<Leaders>(leaders_, token_, 1);
    part_ = std::make_unique<RoundPart>(*members_[kRanksOfNode].job, *others_, 1);
  }
  void TearDown() override {
    part_->abandon();
    ClusterTest::TearDown();
  }
  Status plan(CallStamp cut, uint64_t round = 1) {
    const MessageWriter body = MessageWriter().put(PlanBody{cut, round, 0});
    MessageWriter answer;
    return part_->plan(kNumber, MessageReader(body.bytes()), &answer);
  }
  Status pieces(const PiecesBody& wanted, MessageWriter* answer) {
    const MessageWriter body = MessageWriter().put(wanted);
    return part_->pieces(kNumber, MessageReader(body.bytes()), answer);
  }
  // Which needs that no round of it goes on.
  bool discards() {
    auto discarded = std::async(
        std::launch::async, [this] { EXPECT_TRUE(members_[kRanksOfNode + 1].file->discard_here().ok()); });
    const bool soon = discarded.wait_for(std::chrono::milliseconds(300)) == std::future_status::ready;
    part_->abandon();
    return soon;
  }
  std::unique_ptr<Leaders> others_;
  std::unique_ptr<RoundPart> part_;
};

// The coordinator leads its first round, which this part is taken for: the node's leader can begin its own
// only when the test's has ended.
TEST_F(RoundPartTest, LastsAsLongAsItsCoordinatorLeadsIt) {
  ASSERT_TRUE(plan(call_stamp(2, 0), 1).ok());
  auto drained = std::async(std::launch::async, [this] { return drain(0); });
  const MessageWriter question = MessageWriter().put(kNumber).put(uint64_t{1});
  while (!others_->ask(kCoordinator, Request::alive, question).ok())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  part_->look_after();
  EXPECT_FALSE(discards());
  EXPECT_TRUE(drained.get().ok());
}

TEST_F(RoundPartTest, EndsWhereItsCoordinatorLeadsNoRound) {
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  part_->look_after();
  EXPECT_TRUE(discards());
}

TEST_F(RoundPartTest, EndsWhereItsCoordinatorLeadsAnotherRound) {
  ASSERT_TRUE(plan(call_stamp(2, 0), 2).ok());
  auto drained = std::async(std::launch::async, [this] { return drain(0); });
  const MessageWriter question = MessageWriter().put(kNumber).put(uint64_t{1});
  while (!others_->ask(kCoordinator, Request::alive, question).ok())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  part_->look_after();
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  part_->abandon();
  EXPECT_TRUE(drained.get().ok());
}

// The leader's own thread finds out, without another request.
TEST_F(ClusterTest, ARoundThatItsCoordinatorHasGivenUpDoesNotHoldUpWhoOpensTheFileAgain) {
  write_all(1, 10'000);
  Leaders coordinator(leaders_, token_, 0);
  const MessageWriter begin = MessageWriter().put(kNumber).put(PlanBody{call_stamp(2, 0), 1, 0});
  ASSERT_TRUE(coordinator.ask(1, Request::plan, begin).ok());
  auto opened =
      std::async(std::launch::async, [this] { return members_[kRanksOfNode + 1].file->finished_cut(); });
  const bool in_time = opened.wait_for(4 * TaskThread::kIdlePause) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  // Another one makes it give way, whatever it is of.
  if (!in_time)
    (void)coordinator.ask(1, Request::plan, MessageWriter().put(uint64_t{99}).put(PlanBody{0, 2, 0}));
  EXPECT_EQ(opened.get(), 0u);
  EXPECT_FALSE(drain(0).ok());  // the coordinator's first round, which this was taken for
  drain_all();
  expect_file();
}

TEST_F(ClusterTest, LeadersAreReached) {
  for (uint32_t node = 0; node < kNodes; node++) EXPECT_TRUE(members_[3].cluster->reach(node).ok());
}

TEST_F(RoundPartTest, EndsWithItsCoordinator) {
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  members_[0].cluster->stop();
  part_->look_after();
  EXPECT_TRUE(discards());
}

struct Told {
  std::vector<PieceBody> bodies;
  uint64_t bytes = 0, next = 0;
};

class RoundPartPiecesTest : public RoundPartTest {
 protected:
  RoundPartPiecesTest() { log_bytes_ = 64 << 20; }
  void append(uint64_t call, uint64_t offset, std::span<const std::byte> data) {
    const CallNumber number(0, static_cast<uint32_t>(call), false);
    ASSERT_TRUE(members_[kRanksOfNode].file->append(offset, data.data(), data.size(), number).ok());
  }
  Told told(const PiecesBody& wanted) {
    MessageWriter answer;
    EXPECT_TRUE(pieces(wanted, &answer).ok());
    MessageReader reader(answer.bytes());
    Told told;
    EXPECT_TRUE(reader.get(&told.next) && reader.get_list(&told.bodies));
    told.bytes = reader.left();
    return told;
  }
};

TEST_F(RoundPartPiecesTest, TellsOnlyWhatIsSeen) {
  constexpr uint64_t kAt = 5 * kWindowBytes;
  File& file = *members_[kRanksOfNode].file;
  for (uint64_t call = 2; call < 12; call++) {
    file.begin_call();
    append(call, kAt + (call < 11 ? 0 : 100), std::vector<std::byte>(1000));
    file.end_call();
  }
  ASSERT_TRUE(plan(call_stamp(12, 0)).ok());
  const Told seen = told({1, 5, 0});
  EXPECT_EQ(seen.bytes, 1100u);
  ASSERT_EQ(seen.bodies.size(), 2u);
  std::vector<std::pair<int64_t, uint64_t>> stamps;  // of the piece at this byte
  for (const PieceBody& body : seen.bodies)
    stamps.emplace_back(body.range.offset - kAt, stamp_calls(body.stamp));
  std::sort(stamps.begin(), stamps.end());
  EXPECT_EQ(stamps, (std::vector<std::pair<int64_t, uint64_t>>{{0, 10}, {100, 11}}));
}

// Of more small pieces than a message has room for.
TEST_F(RoundPartPiecesTest, TellsAWindowInParts) {
  constexpr uint64_t kPieces = 400'000, kStride = 10;
  const std::vector<std::byte> data(1);
  File& file = *members_[kRanksOfNode].file;
  file.begin_call();
  for (uint64_t i = 0; i < kPieces; i++) append(2, 5 * kWindowBytes + i * kStride, data);
  file.end_call();
  ASSERT_TRUE(plan(call_stamp(3, 0)).ok());
  std::vector<bool> came(kPieces);
  uint64_t parts = 0, next = 0;
  do {
    const Told some = told({1, 5, next});
    for (const PieceBody& body : some.bodies) {
      const uint64_t i = (static_cast<uint64_t>(body.range.offset) - 5 * kWindowBytes) / kStride;
      ASSERT_FALSE(came[i]);
      came[i] = true;
    }
    parts++;
    next = some.next;
  } while (next != 0);
  EXPECT_GT(parts, 1u);
  EXPECT_EQ(std::count(came.begin(), came.end(), true), kPieces);
}

TEST_F(RoundPartTest, GivesTheNextOneWay) {
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  ASSERT_TRUE(plan(call_stamp(2, 0), 2).ok());
  MessageWriter answer;
  ASSERT_TRUE(pieces({2, 0, 0}, &answer).ok());
  MessageReader reader(answer.bytes());
  NextPart next = 0;
  std::vector<PieceBody> bodies;
  ASSERT_TRUE(reader.get(&next) && reader.get_list(&bodies));
  EXPECT_EQ(next, 0u);
  ASSERT_EQ(bodies.size(), kRanksOfNode);
  for (const PieceBody& body : bodies) EXPECT_TRUE(sensible(body.range, 0));
}

// However many small pieces there are in however many windows.
TEST_F(RoundPartTest, TellsWhatItHasInMessagesOfBoundedSize) {
  struct Shape {
    uint64_t pieces, stride;
  };
  uint64_t call = 2, round = 1;
  for (const auto& [pieces, stride] :
       {Shape{2'000'000, kWindowBytes},
        Shape{70'000 * NodeRound::kMostIntervals, kWindowBytes / NodeRound::kMostIntervals}}) {
    Pattern sparse;
    sparse.add({0, 1, static_cast<int64_t>(stride), pieces});
    sparse.finish(static_cast<int64_t>(pieces * stride));
    const Pattern memory = Pattern::bytes(pieces);
    const std::vector<std::byte> data(pieces);
    PatternCursor to(sparse, 0, 0), from(memory, 0, 0);
    File& file = *members_[kRanksOfNode].file;
    file.begin_call();
    ASSERT_TRUE(
        file.append(to, from, data.data(), data.size(), CallNumber(0, static_cast<uint32_t>(call), false))
            .ok());
    file.end_call();
    RoundPlan plan(2);
    NextPart next = 0;
    do {
      const MessageWriter body = MessageWriter().put(PlanBody{call_stamp(call, 0), round, next});
      MessageWriter answer;
      ASSERT_TRUE(part_->plan(kNumber, MessageReader(body.bytes()), &answer).ok());
      EXPECT_LE(answer.size(), kMaxPayload);
      ASSERT_TRUE(MessageReader(answer.bytes()).get(&next));
      ASSERT_TRUE(plan.read(0, answer.bytes()).ok());
      ASSERT_TRUE(plan.read(1, answer.bytes()).ok());
    } while (next != 0);
    ASSERT_TRUE(plan.arrange().ok());
    do {
      for (const MessageWriter& message : plan.work(kNumber, round)) EXPECT_LE(message.size(), kMaxPayload);
    } while (plan.more_work());
    for (const MessageWriter& message : plan.changes(kNumber, round)) EXPECT_LE(message.size(), kMaxPayload);
    call++;
    round++;
  }
}

TEST_F(RoundPartTest, BelievesNoNonsense) {
  const MessageReader nothing{{}};
  const MessageWriter first = MessageWriter().put(WriteBody{1, 9, 10});  // of a list the length alone
  const MessageReader no_more{first.bytes()};
  MessageWriter answer;
  EXPECT_EQ(part_->plan(kNumber, nothing, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->write(kNumber, no_more, &answer).system_errno(), EPROTO);  // there is no round
  EXPECT_EQ(pieces({1, 0, 0}, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->finish(kNumber, no_more).system_errno(), EPROTO);
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  EXPECT_EQ(part_->write(kNumber, nothing, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->finish(kNumber, no_more).system_errno(), EPROTO);
  EXPECT_EQ(part_->end(kNumber + 1, nothing).system_errno(), EPROTO);
  EXPECT_EQ(pieces({1, 0, 1000}, &answer).system_errno(), EPROTO);  // more than there are
  const std::vector<uint32_t> nodes{0, kNodes};                     // one too many
  const MessageWriter shares = MessageWriter()
                                   .put(WriteBody{1, 0, UINT64_MAX})
                                   .put_list(std::span<const uint64_t>())
                                   .put(uint64_t{0})
                                   .put_list(std::span<const uint32_t>(nodes));
  EXPECT_EQ(part_->write(kNumber, MessageReader(shares.bytes()), &answer).system_errno(), EPROTO);
}

// Of a round that this node was given up in, which come when the next one has begun.
TEST_F(RoundPartTest, LateMessagesOfAnEarlierRoundDoNothing) {
  ASSERT_TRUE(plan(call_stamp(2, 0), 5).ok());
  MessageWriter answer;
  const MessageWriter late = MessageWriter().put(WriteBody{4, 0, 0}).put(uint64_t{0});
  EXPECT_EQ(part_->write(kNumber, MessageReader(late.bytes()), &answer).system_errno(), EPROTO);
  EXPECT_EQ(pieces({4, 0, 0}, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->finish(kNumber, MessageReader(late.bytes())).system_errno(), EPROTO);
  const MessageWriter failed = MessageWriter().put(EndBody{4, EIO});
  EXPECT_EQ(part_->end(kNumber, MessageReader(failed.bytes())).system_errno(), EPROTO);
  EXPECT_EQ(plan(call_stamp(1, 0), 4).system_errno(), EPROTO);
  EXPECT_TRUE(pieces({5, 0, 0}, &answer).ok());
  const MessageWriter over = MessageWriter().put(EndBody{6, EIO});
  EXPECT_TRUE(part_->end(kNumber + 1, MessageReader(over.bytes())).ok());  // whose `plan` has not come yet
  EXPECT_EQ(plan(call_stamp(2, 0), 6).system_errno(), EPROTO);
  EXPECT_TRUE(discards());
}

// A node that is gone: an error that names it, for whoever needs it; the log is kept.
class GoneNode : public ClusterTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(GoneNode, IsAnErrorAndTheLogsAreRecovered) {
  for (uint64_t call = 1; call <= 3; call++) write_all(call, 50'000);
  ASSERT_TRUE(drain(0).ok());
  for (uint64_t call = 4; call <= 9; call++) write_all(call, 50'000);
  const uint32_t gone = GetParam();
  members_[gone * kRanksOfNode].cluster->stop();
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    if (rank / kRanksOfNode == gone) continue;
    const Status status = drain(rank);
    EXPECT_EQ(status.code(), Code::io);
    EXPECT_NE(status.message().find("127.0.0.1"), std::string::npos) << status.message();
    std::byte one;
    uint64_t got = 0;
    EXPECT_FALSE(members_[rank].file->read(0, &one, 1, &got).ok());
    EXPECT_FALSE(members_[rank].file->release().ok());
  }
  for (const uint32_t rank : ranks_of(gone)) EXPECT_FALSE(members_[rank].file->release().ok());
  TearDown();
  for (uint32_t node = 0; node < kNodes; node++) {
    RecoverOptions options;
    options.directory = logs_[node].log_;
    auto report = recover(options);
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->jobs.size(), 1u);
    ASSERT_EQ(report->jobs[0].files.size(), 1u);
    const FileOutcome& outcome = report->jobs[0].files[0];
    EXPECT_EQ(outcome.message, "");
    ASSERT_EQ(outcome.waits_for.size(), kNodes - 1 - node);
    for (uint32_t i = 0; i < outcome.waits_for.size(); i++)
      EXPECT_EQ(outcome.waits_for[i].members.host, "host" + std::to_string(node + 1 + i));
    EXPECT_EQ(report->complete(), node == kNodes - 1);
    EXPECT_TRUE(report->complete_here());
  }
  expect_file();
}

INSTANTIATE_TEST_SUITE_P(CoordinatorOrNot, GoneNode, testing::Values(0u, 1u));

// A round that the second node alone cannot finish; the node that is recovered first.
class HalfFinished : public ClusterTest, public testing::WithParamInterface<uint32_t> {
 protected:
  HalfFinished() { open_log_ = open_with_ledgers_that_fail; }
  void TearDown() override {
    UnsyncedRegion::fails = false;
    ClusterTest::TearDown();
  }
  void write_by(uint32_t writer, uint32_t call, uint64_t offset, char value) {
    const std::vector<std::byte> data(100, static_cast<std::byte>(value));
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      File& file = *members_[rank].file;
      file.begin_call();
      if (rank == writer) {
        ASSERT_TRUE(file.append(offset, data.data(), data.size(), CallNumber(0, call, false)).ok());
      }
      file.end_call();
    }
    oracle_.write(offset, data.data(), data.size());
  }
  void expect_no_close() {
    for (Member& member : members_) EXPECT_EQ(member.file->release().code(), Code::io);
  }
};

TEST_P(HalfFinished, KeepsItsNewerBytesWhenTheFileIsOpenedAgain) {
  write_by(kRanksOfNode, 1, 0, 'b');
  write_by(0, 2, 0, 'a');
  UnsyncedRegion::fails = true;
  EXPECT_EQ(drain(0).code(), Code::io);
  UnsyncedRegion::fails = false;
  expect_no_close();
  for (uint32_t call = 3; call < 5; call++) {
    open_all_again();
    for (uint32_t rank = 0; rank < kRanks; rank++) EXPECT_EQ(drain(rank).code(), Code::io);
    EXPECT_EQ(contents(path_), std::vector<std::byte>(100, std::byte{'a'}));
    write_by(kRanks - 1, call, 50 * call, 'c');
    expect_no_close();
  }
  TearDown();
  for (uint32_t i = 0; i < kNodes; i++) {
    RecoverOptions options;
    options.directory = logs_[(GetParam() + i) % kNodes].log_;
    auto report = recover(options);
    ASSERT_TRUE(report.ok() && report->jobs.size() == 1);
    EXPECT_TRUE(report->complete_here());
  }
  expect_file();
}

INSTANTIATE_TEST_SUITE_P(RecoveredFirst, HalfFinished, testing::Range(0u, kNodes));

}  // namespace
}  // namespace pmio
