// The log keeps away from the limits of the job's memory, when it begins and while it grows, and gives back
// what it holds where they come near.
#include <sys/stat.h>

#include <thread>

#include "job/capacity.h"
#include "job/memory_watch.h"
#include "job/pool.h"
#include "log/format.h"
#include "support/node_fixture.h"
#include "support/wrapped_medium.h"

namespace pmio {
namespace {

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
constexpr uint64_t kCapacity = 8 * kMinSegmentBytes;

MemoryLimit memory(uint64_t limit, uint64_t left) {
  return {MemoryLimit::Of::memory, "a group", limit, left};
}

TEST(Capacity, ATenthOfTheTightestLimitForAllRanksTogether) {
  const std::vector<MemoryLimit> limits{memory(4 * kGiB, 3 * kGiB), memory(256 * kGiB, 200 * kGiB)};
  EXPECT_EQ(default_capacity(128 * kGiB, 4, limits), 4 * kGiB / 10 / 4);
  EXPECT_EQ(default_capacity(128 * kGiB, 64, limits), 4 * kGiB / 10 / 64);
  // A node of 256 GiB, all of it the job's.
  EXPECT_EQ(default_capacity(128 * kGiB, 64, std::vector<MemoryLimit>{memory(256 * kGiB, 250 * kGiB)}),
            256 * kGiB / 10 / 64);
}

TEST(Capacity, HalfOfWhatIsLeftAtMost) {
  // 400 MiB of 4 GiB left, and an eighth is kept free.
  EXPECT_EQ(default_capacity(kGiB, 1, std::vector<MemoryLimit>{memory(2 * kGiB, 400 * kMiB)}), 72 * kMiB);
  EXPECT_EQ(bounded_capacity(64 * kGiB, 2, std::vector<MemoryLimit>{memory(2 * kGiB, kGiB)}),
            (kGiB - 256 * kMiB) / 2 / 2);
  EXPECT_EQ(bounded_capacity(32 * kMiB, 2, std::vector<MemoryLimit>{memory(2 * kGiB, kGiB)}), 32 * kMiB);
}

TEST(Capacity, WithoutLimitsAsBefore) {
  EXPECT_EQ(default_capacity(kGiB, 4), kGiB / 2 / 4);
  EXPECT_EQ(default_capacity(kMiB, 4), 16 * kMiB);
  EXPECT_EQ(default_capacity(1024 * kGiB, 4), kGiB);
  EXPECT_EQ(bounded_capacity(64 * kGiB, 4, {}), 64 * kGiB);
}

TEST(Capacity, NothingLeftIsTheSmallestLog) {
  EXPECT_EQ(default_capacity(kGiB, 64, std::vector<MemoryLimit>{memory(300 * kMiB, 0)}),
            4 * kMinSegmentBytes);
  EXPECT_EQ(bounded_capacity(kGiB, 64, std::vector<MemoryLimit>{memory(300 * kMiB, 0)}),
            4 * kMinSegmentBytes);
}

// A medium whose limits the test sets.
class LimitedMedium final : public test::WrappedMedium {
 public:
  using WrappedMedium::WrappedMedium;
  Status vacate(std::string_view name) override { return real().vacate(name); }
  Status reserve(std::string_view name) override { return real().reserve(name); }
  std::vector<MemoryLimit> limits() const override { return {memory(800 * kMiB, left_bytes)}; }
  uint64_t left_bytes = 700 * kMiB;
};

// In memory, whatever the other tests' scratch directory is.
struct NodeMemory : testing::Test {
  NodeMemory() {
    directory_ = "/dev/shm/pmio-node-memory-" + std::to_string(getpid());
    auto real = open_medium(directory_, Durability::none);
    if (real.ok() && (*real)->kind() == MediumKind::tmpfs)
      medium_ = std::make_unique<LimitedMedium>(std::move(real).value());
  }
  ~NodeMemory() override { std::filesystem::remove_all(directory_); }
  void SetUp() override {
    if (medium_ == nullptr) GTEST_SKIP() << "no tmpfs at /dev/shm";
  }
  uint64_t memory_of(uint32_t slot) const {
    struct stat facts {};
    const std::string path = directory_ + "/" + SegmentPool::segment_name(0, slot);
    return stat(path.c_str(), &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * 512 : 0;
  }
  std::string directory_;
  std::unique_ptr<LimitedMedium> medium_;
};

TEST_F(NodeMemory, TheLogGrowsWhileThereIsRoomAndNoLonger) {
  SegmentPool pool(*medium_, 0, kCapacity);
  ASSERT_TRUE(pool.acquire().ok());
  medium_->left_bytes = 100 * kMiB;  // all of it is kept free
  auto second = pool.acquire();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::no_space);
  EXPECT_TRUE(pool.has_lacked_room());
  EXPECT_EQ(pool.limit(), 8u);  // it may grow later
  medium_->left_bytes = 200 * kMiB;
  while (!pool.acquire().ok()) std::this_thread::yield();  // it is not looked at all the time
  (void)pool.has_lacked_room();
  EXPECT_TRUE(pool.acquire().ok());
  EXPECT_FALSE(pool.has_lacked_room());
}

TEST_F(NodeMemory, TheFirstSegmentIsMadeWhereTheMediumAllowsIt) {
  medium_->left_bytes = 60 * kMiB;
  SegmentPool pool(*medium_, 0, kCapacity);
  EXPECT_TRUE(pool.require_one().ok());
}

TEST_F(NodeMemory, FreeSegmentsGiveTheirMemoryBackAndTakeItAgain) {
  SegmentPool pool(*medium_, 0, kCapacity);
  std::vector<SegmentPool::Segment*> all;
  for (int i = 0; i < 4; i++) {
    auto segment = pool.acquire();
    ASSERT_TRUE(segment.ok());
    std::memset((*segment)->region->data(), 'x', pool.segment_bytes());
    all.push_back(*segment);
  }
  for (size_t i = 1; i < all.size(); i++) pool.release(all[i]);
  pool.give_back(1);
  EXPECT_EQ(pool.with_memory(), 1u);
  EXPECT_EQ(pool.free(), 0u);
  EXPECT_EQ(memory_of(0), pool.segment_bytes());
  for (uint32_t slot = 1; slot < 4; slot++) EXPECT_EQ(memory_of(slot), 0u);
  medium_->left_bytes = 0;
  EXPECT_FALSE(pool.acquire().ok());
  medium_->left_bytes = 700 * kMiB;
  auto again = pool.acquire();
  for (; !again.ok(); again = pool.acquire()) std::this_thread::yield();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(memory_of((*again)->slot), pool.segment_bytes());
  EXPECT_EQ((*again)->region->data()[0], std::byte{0});
  EXPECT_EQ(pool.with_memory(), 2u);
}

TEST_F(NodeMemory, OneThatIsUsableIsAlwaysLeft) {
  SegmentPool pool(*medium_, 0, kCapacity);
  auto kept = pool.acquire(), other = pool.acquire();
  ASSERT_TRUE(kept.ok() && other.ok());
  pool.keep(*kept);
  pool.release(*other);
  pool.give_back(1);
  EXPECT_EQ(pool.free(), 1u);
}

TEST_F(NodeMemory, WhoWaitsIsToldWhereOnlyKeptSegmentsHaveMemory) {
  SegmentPool pool(*medium_, 0, kCapacity);
  auto first = pool.acquire(), second = pool.acquire();
  ASSERT_TRUE(first.ok() && second.ok());
  pool.release(*second);
  pool.give_back(1);
  pool.keep(*first);
  EXPECT_FALSE(pool.await_release(pool.releases()));
}

TEST_F(NodeMemory, TheNearerALimitTheOftenerItIsLookedAt) {
  MemoryWatch watch(*medium_);
  uint64_t now = 1'000'000'000;
  EXPECT_FALSE(watch.is_short(now));
  medium_->left_bytes = 10 * kMiB;
  EXPECT_FALSE(watch.is_short(now + 1'000'000));  // 650 MiB cannot be gone within a millisecond
  EXPECT_TRUE(watch.is_short(now + 20'000'000));
  medium_->left_bytes = 700 * kMiB;
  EXPECT_FALSE(watch.is_short(now + 20'000'001));
}

TEST_F(NodeMemory, ARegionThatWouldBringTheJobNearToALimitIsNotMade) {
  auto real = open_medium(directory_, Durability::none);
  ASSERT_TRUE(real.ok());
  auto region = (*real)->create("large", uint64_t{1} << 45);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.status().code(), Code::no_space);
}

TEST_F(NodeMemory, AFileLimitMakesSegmentsSmaller) {
  EXPECT_EQ(SegmentPool::choose_segment_bytes(kGiB, 12000 << 10), size_t{11968} << 10);
  EXPECT_EQ(SegmentPool::choose_segment_bytes(kGiB, 1), kMinSegmentBytes);
}

}  // namespace
}  // namespace pmio
