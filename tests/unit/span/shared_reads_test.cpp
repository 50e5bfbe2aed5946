#include "span/shared_reads.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "base/clock.h"
#include "span/read_habit.h"

namespace pmio {
namespace {

constexpr uint64_t kNumber = 42, kStretch = SharedReads::kStretchBytes;
constexpr uint32_t kStretches = 4;

// Ranks of a node, each with an object of its own for the same memory.
class SharedReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = SharedReads::memory_bytes(kStretches);
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    SharedReads::init(memory_, kStretches, kNumber);
    for (auto& rank : ranks_) rank = SharedReads::attach(memory_, bytes_, kNumber);
    ASSERT_TRUE(ranks_[0] && ranks_[1]);
    file_.resize(10 * kStretch + 1000);
    write_anew();
  }
  void TearDown() override { munmap(memory_, bytes_); }

  void write_anew() {
    version_++;
    for (size_t i = 0; i < file_.size(); i++)
      file_[i] = static_cast<std::byte>(i * 7 + i / 251 + version_ * 101);
  }
  Status fetch(uint64_t offset, std::byte* to, uint64_t bytes, uint64_t* got) {
    fetches_++;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(to) % 4096, 0);
    *got = offset >= file_.size() ? 0 : std::min<uint64_t>(bytes, file_.size() - offset);
    if (fails_) return Status::from_errno(EIO, "not now");
    std::memcpy(to, file_.data() + offset, *got);
    return {};
  }
  // The bytes; fewer, if fewer were got.
  std::vector<std::byte> read(int rank, uint64_t offset, uint64_t bytes) {
    std::vector<std::byte> found(bytes);
    uint64_t got = 0;
    uint32_t fetches = 0;
    const auto from_file = [this](uint64_t at, std::byte* to, uint64_t n, uint64_t* n_got) {
      return fetch(at, to, n, n_got);
    };
    status_ = ranks_[rank]->read(reader_, offset, found.data(), bytes, from_file, &got, &fetches);
    found.resize(got);
    return found;
  }
  std::vector<std::byte> in_file(uint64_t offset, uint64_t bytes) const {
    const auto begin = file_.begin() + static_cast<int64_t>(offset);
    return {begin, begin + static_cast<int64_t>(bytes)};
  }

  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  std::optional<SharedReads> ranks_[2];
  std::vector<std::byte> file_;
  SharedReads::Reader reader_;
  int version_ = 0, fetches_ = 0;
  bool fails_ = false;
  Status status_;
};

TEST_F(SharedReadsTest, WhatOneRankHasReadServesTheOthers) {
  for (uint64_t at = 100; at + 50 < 2 * kStretch; at += 5000) {
    EXPECT_EQ(read(0, at, 50), in_file(at, 50));
    EXPECT_EQ(read(1, at + 2000, 50), in_file(at + 2000, 50));
  }
  EXPECT_EQ(fetches_, 2);
  EXPECT_EQ(read(1, kStretch - 10, 20), in_file(kStretch - 10, 20));
  EXPECT_EQ(fetches_, 2);
}

TEST_F(SharedReadsTest, NothingFromBeforeAChangeIsServed) {
  EXPECT_EQ(read(0, 0, 100), in_file(0, 100));
  for (const SharedReads::Epoch epoch : {SharedReads::Epoch{1, 0}, {1, 1}, {2, 1}}) {
    write_anew();
    reader_.epoch = epoch;
    EXPECT_EQ(read(1, 0, 100), in_file(0, 100));
    EXPECT_EQ(read(0, 50, 100), in_file(50, 100));
  }
  EXPECT_EQ(fetches_, 4);
}

// Who has seen a change must not be served by one who has not, and who reads on with what it has seen before.
TEST_F(SharedReadsTest, WhoIsBehindDoesNotServeWhoIsAhead) {
  const SharedReads::Reader behind = reader_, ahead{{1, 0}, 0};
  EXPECT_EQ(read(0, 0, 100), in_file(0, 100));
  write_anew();
  reader_ = ahead;
  EXPECT_EQ(read(0, 0, 100), in_file(0, 100));
  reader_ = behind;
  (void)read(1, 0, 100);
  write_anew();
  reader_ = {{2, 0}, 0};
  EXPECT_EQ(read(0, 0, 100), in_file(0, 100));
}

TEST_F(SharedReadsTest, WhoReadsAgainIsServedNothingFromBefore) {
  EXPECT_EQ(read(0, 0, 100), in_file(0, 100));
  write_anew();
  reader_.since_ns = monotonic_ns();
  EXPECT_EQ(read(1, 0, 100), in_file(0, 100));
}

TEST_F(SharedReadsTest, TheEndOfTheFileIsWhereItWas) {
  const uint64_t end = file_.size();
  EXPECT_EQ(read(0, end - 100, 500), in_file(end - 100, 100));
  EXPECT_TRUE(read(0, end + 100, 10).empty());
  EXPECT_EQ(read(0, 10 * kStretch - 10, 20), in_file(10 * kStretch - 10, 20));
}

TEST_F(SharedReadsTest, WhatCouldNotBeReadIsReadAnew) {
  fails_ = true;
  EXPECT_TRUE(read(0, 0, 100).empty());
  EXPECT_FALSE(status_.ok());
  fails_ = false;
  EXPECT_EQ(read(1, 0, 100), in_file(0, 100));
  EXPECT_TRUE(status_.ok());
}

TEST_F(SharedReadsTest, AtRandomInMoreStretchesThanThereAre) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; i++) {
    if (random() % 20 == 0) {
      write_anew();
      (random() % 2 == 0 ? reader_.epoch.changes : reader_.epoch.writes)++;
    }
    const uint64_t offset = random() % file_.size();
    const uint64_t bytes =
        std::min<uint64_t>(1 + random() % (i % 10 == 0 ? 3 * kStretch : 5000), file_.size() - offset);
    ASSERT_EQ(read(static_cast<int>(random() % 2), offset, bytes), in_file(offset, bytes));
  }
}

TEST_F(SharedReadsTest, WhoDiesWhileItReadsLeavesNothing) {
  EXPECT_EQ(read(0, 0, 100), in_file(0, 100));
  write_anew();
  reader_.epoch.changes++;
  const pid_t child = fork();
  if (child == 0) {
    uint64_t got = 0;
    uint32_t fetches = 0;
    std::byte byte{};
    (void)ranks_[0]->read(
        reader_, 0, &byte, 1,
        [](uint64_t, std::byte* to, uint64_t, uint64_t* n) {
          *n = kStretch;
          std::memset(to, 0x5a, 1000);
          _exit(0);
          return Status();
        },
        &got, &fetches);
    _exit(1);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  ASSERT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  for (const uint64_t changes : {0, 1}) {  // also to one who has not seen the change
    reader_.epoch.changes = changes;
    EXPECT_EQ(read(1, 0, 100), in_file(0, 100));
  }
}

// Of random reads by several processes at once; a byte says how often all have been written.
TEST_F(SharedReadsTest, ProcessesAtOnce) {
  struct Shared {
    std::atomic<uint64_t> version;
    std::atomic<int> wrong;
  };
  auto& shared = *static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  constexpr int kProcesses = 4, kReads = 2000;
  for (int process = 0; process < kProcesses; process++) {
    if (fork() != 0) continue;
    std::mt19937_64 random(static_cast<uint64_t>(process));
    auto mine = SharedReads::attach(memory_, bytes_, kNumber);
    for (int i = 0; i < kReads; i++) {
      if (process == 0 && i % 16 == 0) shared.version++;
      const uint64_t seen = shared.version;
      std::byte found[3000];
      uint64_t got = 0;
      uint32_t fetches = 0;
      const auto fetch = [&](uint64_t, std::byte* to, uint64_t bytes, uint64_t* n) {
        std::memset(to, static_cast<int>(shared.version % 251), bytes);
        *n = bytes;
        return Status();
      };
      (void)mine->read({{seen, 0}, 0}, random() % (6 * kStretch), found, sizeof found, fetch, &got, &fetches);
      // Nothing older than what was there when it began; a byte from each end tells of each stretch.
      const uint64_t now = shared.version;
      for (const uint64_t at : {uint64_t{0}, got - 1}) {
        bool may_be = got == 0;
        for (uint64_t version = seen; version <= now; version++)
          may_be = may_be || found[at] == static_cast<std::byte>(version % 251);
        if (!may_be) shared.wrong++;
      }
    }
    _exit(0);
  }
  for (int process = 0; process < kProcesses; process++) wait(nullptr);
  EXPECT_EQ(shared.wrong, 0);
  munmap(&shared, sizeof(Shared));
}

TEST(ReadHabit, SmallReadsWithGapsAreShared) {
  ReadHabit habit;
  int suited = 0;
  for (uint64_t i = 0; i < 100; i++) {
    const bool suits = habit.suits_sharing(i * 21'000, 1312, false);
    suited += suits ? 1 : 0;
    if (suits) habit.shared(i % 12 == 0 ? 1 : 0);
  }
  EXPECT_GE(suited, 90);
}

TEST(ReadHabit, ReadsInARowAndLargeOnesAreNot) {
  ReadHabit habit;
  for (uint64_t i = 0; i < 100; i++) EXPECT_FALSE(habit.suits_sharing(i * 1312, 1312, false));
  for (uint64_t i = 0; i < 100; i++) EXPECT_FALSE(habit.suits_sharing(i << 20, 64 << 10, false));
  EXPECT_TRUE(habit.suits_sharing(0, 1 << 20, true));
}

// Of 1,000 reads that each would need a stretch of their own.
TEST(ReadHabit, WhatIsNotWorthItIsGivenUp) {
  ReadHabit habit;
  int stretches = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    if (!habit.suits_sharing(i * kStretch * 2, 1312, false)) continue;
    habit.shared(1);
    stretches++;
  }
  EXPECT_LT(stretches, 40);
}

TEST(ReadHabit, WhoGoesBackWantsToKnowWhetherItHasChanged) {
  ReadHabit habit;
  for (uint64_t i = 0; i < 10; i++) (void)habit.suits_sharing(i * 21'000, 1312, false);
  EXPECT_EQ(habit.since_ns(), 0);
  const uint64_t before_ns = monotonic_ns();
  (void)habit.suits_sharing(0, 1312, false);
  EXPECT_GE(habit.since_ns(), before_ns);
}

}  // namespace
}  // namespace pmio
