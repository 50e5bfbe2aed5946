// Files of several nodes that rest between a close and the next open: what is read from the logs, and what
// others have done meanwhile.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nodes_fixture.h"
#include "span/spanning.h"

namespace pmio::test {
namespace {

// Files that rest between a close and the next open (span/resting.cpp).
class ClusterRestTest : public ClusterTest {
 protected:
  // A window for each rank, so that no node's bytes mix with another's.
  static uint64_t window_of(uint32_t rank) { return rank * kWindowBytes; }
  void write_windows(uint64_t call, uint64_t from = 0) {
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      const auto data = random_bytes(random_, 10'000);
      File& file = *members_[rank].file;
      Spanning::of(file).begin_call();
      ASSERT_TRUE(file.append(window_of(rank) + from, data.data(), data.size(),
                              CallNumber(0, static_cast<uint32_t>(call), false))
                      .ok());
      Spanning::of(file).end_call();
      oracle_.write(window_of(rank) + from, data.data(), data.size());
    }
  }
  void sync_all() {
    drain_all();
    for (Member& member : members_) ASSERT_TRUE(member.file->sync().ok());
  }
  // As src/mpi/open.cpp does it. kNobody: all let the file rest.
  static constexpr uint32_t kNobody = UINT32_MAX;
  void close_all(uint32_t lets_go = kNobody) {
    drain_all();
    release_all([=](uint32_t rank) { return rank != lets_go; });
  }
  void release_all(const std::function<bool(uint32_t)>& may_rest) {
    std::vector<std::shared_ptr<File>> files;
    for (Member& member : members_) files.push_back(std::move(member.file));
    release(files, may_rest);
  }
  // Whether they rest where they may.
  static bool release(std::vector<std::shared_ptr<File>>& files,
                      const std::function<bool(uint32_t)>& may_rest) {
    RestingState all;
    for (size_t rank = 0; rank < files.size(); rank++) {
      const RestingState one = Spanning::of(*files[rank]).resting_state(rank == 0);
      all = {std::max(all.known, one.known),           std::max(all.uncertain, one.uncertain),
             std::max(all.rests, one.rests),           std::max(all.set_back, one.set_back),
             std::max(all.size_bytes, one.size_bytes), std::max(all.mtime_ns, one.mtime_ns)};
    }
    for (uint32_t rank = 0; rank < files.size(); rank++) {
      const bool rests = all.rests != 0 && may_rest(rank);
      EXPECT_TRUE(files[rank]->closing().release(rests ? std::optional(all) : std::nullopt).ok());
      files[rank].reset();
    }
    return all.rests != 0;
  }
  void write_by_another_program(uint64_t offset, std::byte byte, bool hidden) {
    timespec times[2]{};
    struct stat facts {};
    ASSERT_EQ(stat(path_.c_str(), &facts), 0);
    times[0] = facts.st_atim;
    times[1] = facts.st_mtim;
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(syscall(SYS_pwrite64, fd, &byte, 1, offset), 1);
    ASSERT_TRUE(!hidden || futimens(fd, times) == 0);
    ::close(fd);
  }
  void expect_byte(uint32_t rank, uint64_t offset, std::byte byte) {
    std::byte found{};
    uint64_t got = 0;
    ASSERT_TRUE(members_[rank].file->read(offset, &found, 1, &got).ok());
    EXPECT_TRUE(got == 1 && found == byte) << "rank " << rank << " at " << offset;
  }
};

TEST_F(ClusterRestTest, WhatWasClosedIsReadFromTheLogWhenItIsOpenedAgain) {
  write_windows(1);
  close_all();
  // So that it shows where a byte comes from.
  for (uint32_t rank = 0; rank < kRanks; rank++) write_by_another_program(window_of(rank) + 7, {}, true);
  open_all_again();
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    const uint64_t at = window_of(rank) + 7;
    expect_byte(rank, at, oracle_.bytes[at]);
    oracle_.bytes[at] = {};  // for other nodes
  }
  write_windows(2);
  drain_all();
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  expect_file();
}

TEST_F(ClusterRestTest, WhatOthersWroteMeanwhileIsRead) {
  for (uint64_t call = 1; call < 4; call++) {
    write_windows(call);
    close_all();
    const uint64_t at = window_of(call % kRanks) + call;
    oracle_.bytes[at] ^= std::byte{1};
    write_by_another_program(at, oracle_.bytes[at], false);
    open_all_again();
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  }
}

// What a sync, or a close before, has told them is there they may write over while the job has the file open.
TEST_F(ClusterRestTest, WhatOthersWroteWhileItWasOpenIsRead) {
  uint64_t call = 0;
  for (const bool sync : {true, false}) {
    write_windows(++call);
    if (sync) {
      sync_all();
    } else {
      close_all();
      open_all_again();
    }
    oracle_.bytes[7] ^= std::byte{1};
    write_by_another_program(7, oracle_.bytes[7], false);
    const std::byte next{5};
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      File& file = *members_[rank].file;
      Spanning::of(file).begin_call();
      if (rank == 1) {
        ASSERT_TRUE(file.append(window_of(1) + 20'000, &next, 1, CallNumber(0, 2, false)).ok());
      }
      Spanning::of(file).end_call();
    }
    oracle_.write(window_of(1) + 20'000, &next, 1);
    close_all();
    open_all_again();
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  }
}

// Between the drains of a close and its end, too.
TEST_F(ClusterRestTest, WhatOthersWroteDuringTheDrainsOfACloseIsRead) {
  write_windows(1);
  close_all();
  open_all_again();
  write_windows(2, 20'000);
  drain_all();
  oracle_.bytes[7] ^= std::byte{1};
  write_by_another_program(7, oracle_.bytes[7], false);
  release_all([](uint32_t) { return true; });
  open_all_again();
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
}

TEST_F(ClusterRestTest, WhatOthersWroteBetweenTwoSyncsIsRead) {
  write_windows(1);
  sync_all();
  oracle_.bytes[7] ^= std::byte{1};
  write_by_another_program(7, oracle_.bytes[7], false);
  write_windows(2, 20'000);
  sync_all();
  close_all();
  open_all_again();
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
}

// By a handle that is handed on, whose call another node has drained for.
TEST_F(ClusterRestTest, WhatOthersKnowOfByACallThatIsHandedOnIsRead) {
  write_windows(1);
  drain_all();
  const std::vector<std::byte> data(100, std::byte{0x5a});
  const uint64_t at = window_of(kRanks - 1) + 20'000;
  ASSERT_TRUE(write_independent(kRanks - 1, at, data).ok());
  oracle_.write(at, data.data(), data.size());
  ASSERT_TRUE(members_[0].file->drain(DrainScope::for_library).ok());
  ASSERT_TRUE(Spanning::of(*members_[kRanks - 1].file).all_drained_here());
  oracle_.bytes[at + 7] = std::byte{1};
  write_by_another_program(at + 7, oracle_.bytes[at + 7], false);
  write_windows(2, 40'000);
  close_all();
  open_all_again();
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
}

TEST_F(ClusterRestTest, WhatWasSyncedAndClosedIsReadFromTheLog) {
  write_windows(1);
  sync_all();
  for (uint32_t rank = 0; rank < kRanks; rank++) write_by_another_program(window_of(rank) + 7, {}, true);
  close_all();
  open_all_again();
  for (uint32_t rank = 0; rank < kRanks; rank++)
    expect_byte(rank, window_of(rank) + 7, oracle_.bytes[window_of(rank) + 7]);
}

// Not what was synced before: somebody may have changed it while the job wrote.
TEST_F(ClusterRestTest, WhatWasWrittenSinceASyncIsReadFromTheLog) {
  write_windows(1);
  sync_all();
  write_windows(2, 20'000);
  drain_all();
  const std::byte other{0x5a};
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    write_by_another_program(window_of(rank) + 7, other, true);
    write_by_another_program(window_of(rank) + 20'007, other, true);
  }
  close_all();
  open_all_again();
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    expect_byte(rank, window_of(rank) + 7, other);
    expect_byte(rank, window_of(rank) + 20'007, oracle_.bytes[window_of(rank) + 20'007]);
  }
}

TEST_F(ClusterRestTest, WhatOthersCutMeanwhileIsGone) {
  write_windows(1);
  close_all();
  oracle_.bytes.resize(window_of(2) + 5);
  std::filesystem::resize_file(path_, oracle_.bytes.size());
  open_all_again();
  expect_size(oracle_.bytes.size());
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
}

TEST_F(ClusterRestTest, OneThatRestsOnSomeRanksOnlyIsRightOnAll) {
  for (uint64_t call = 1; call < 4; call++) {
    write_windows(call);
    close_all(static_cast<uint32_t>(call % kRanks));
    open_all_again();
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  }
  close_all();
  expect_file();
}

// Nodes that want the same window write past their logs, and count it: anew, where none of a node's ranks has
// let the file rest.
TEST_F(ClusterRestTest, WhatIsWrittenPastTheLogIsSeenByOthersWhereOneHasForgotten) {
  const auto contend = [this](uint32_t times) {
    for (uint32_t i = 0; i < times * kNodes; i++) {
      const std::vector<std::byte> data(5000, std::byte(1 + random_() % 255));
      ASSERT_TRUE(write_independent(i % kNodes * kRanksOfNode, 0, data).ok());
      oracle_.write(0, data.data(), data.size());
      for (uint32_t reader = 0; reader < kRanks; reader++) {
        expect_byte(reader, 0, data.front());
        expect_byte(reader, data.size() - 1, data.back());
      }
    }
  };
  write_windows(1);
  contend(6);
  drain_all();
  release_all([](uint32_t rank) { return rank / kRanksOfNode != 1; });
  open_all_again();
  contend(3);
  close_all();
  expect_file();
}

TEST_F(ClusterRestTest, ItsTimesAreLeftAloneWhereNobodyHasWritten) {
  write_windows(1);
  close_all();
  const auto left = std::filesystem::last_write_time(path_);
  open_all_again();
  expect_read(0);
  close_all();
  EXPECT_EQ(std::filesystem::last_write_time(path_), left);
}

TEST_F(ClusterRestTest, OneThatIsReplacedIsAnotherFile) {
  write_windows(1);
  close_all();
  std::filesystem::remove(path_);
  std::ofstream(path_).flush();
  oracle_ = {};
  open_all_again();
  expect_size(0);
  write_windows(2);
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  drain_all();
  expect_file();
}

// Many of them, each as large as half of the log.
TEST_F(ClusterRestTest, TheyMakeRoomForOthers) {
  const auto data = random_bytes(random_, kLogBytes / 2);
  for (uint64_t number = 0; number < 12; number++) {
    const std::string path = files_.files_ + "/" + std::to_string(number);
    std::ofstream(path).flush();
    std::vector<std::shared_ptr<File>> files;
    for (Member& member : members_) files.push_back(opened(member, path, 100 + number));
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      File& file = *files[rank];
      Spanning::of(file).begin_call();
      ASSERT_TRUE(file.append(window_of(2 * rank), data.data(), data.size(), CallNumber(0, 1, false)).ok());
      Spanning::of(file).end_call();
    }
    for (const auto& file : files) ASSERT_TRUE(file->drain().ok());
    ASSERT_TRUE(release(files, [](uint32_t) { return true; }));
  }
}

}  // namespace
}  // namespace pmio::test
