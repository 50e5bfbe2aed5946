// Who waits for a segment gets one as long as one can come, and is told where none can.
#include "job/pool.h"

#include <thread>

#include "node/control.h"
#include "support/node_fixture.h"
#include "support/wrapped_medium.h"

namespace pmio {
namespace {

constexpr uint64_t kCapacity = 4 * kMinSegmentBytes;

// Each thread's segment is another one's that has just closed its file: at no moment of its search has a
// thread seen it free.
TEST(NodePool, ThreadsThatOpenAndCloseFilesShareALogOfFourSegments) {
  constexpr int kThreads = 12;
  constexpr int kTurns = 100;
  const Scratch scratch;
  const auto job = join(scratch, 0, 1, kCapacity, true);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; number++) {
    threads.emplace_back([&, number] {
      const std::vector<std::byte> data(4000, static_cast<std::byte>(number + 1));
      for (int turn = 0; turn < kTurns; turn++) {
        Job::OpenOptions options;
        options.path = scratch.files_ + "/" + std::to_string(number) + "-" + std::to_string(turn);
        std::ofstream(options.path).flush();
        auto file = job->open(options);
        if (!file.ok()) {
          failures++;
          continue;
        }
        for (int i = 0; i < 3; i++) {
          const Status status = (*file)->append(i * data.size(), data.data(), data.size(), CallNumber());
          if (!status.ok() && failures++ == 0) ADD_FAILURE() << status.message();
        }
        if (!(*file)->closing().release().ok()) failures++;
        file = std::shared_ptr<File>();
        std::vector<std::byte> expected;
        for (int i = 0; i < 3; i++) expected.insert(expected.end(), data.begin(), data.end());
        if (contents(options.path) != expected) failures++;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
}

// The first is smaller than the others.
TEST(NodePool, WhatIsForgottenIsTheSegmentAndNothingBehindIt) {
  const Scratch scratch;
  auto medium = open_medium(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  constexpr size_t kBytes = 32 << 20;
  // The kernel maps what comes later just below what was mapped before.
  auto behind = (*medium)->create("behind", kBytes);
  ASSERT_TRUE(behind.ok());
  std::byte* const data = behind.value()->data();
  std::fill(data, data + kBytes, std::byte{1});
  SegmentPool pool(**medium, 0, uint64_t{1} << 30);
  auto first = pool.acquire();
  ASSERT_TRUE(first.ok());
  EXPECT_LT((*first)->region->size_bytes(), pool.segment_bytes());
  pool.release(*first);
  pool.forget_free();
  EXPECT_EQ(std::count(data, data + kBytes, std::byte{1}), kBytes);
}

// Each may never fill its first.
TEST(NodePool, NothingIsMadeReadyForManyFilesOfOneSegment) {
  constexpr size_t kFiles = 20;
  const Scratch scratch;
  const auto job = join(scratch, 0, 1, uint64_t{1} << 30, true);
  std::vector<std::shared_ptr<File>> files;
  for (size_t number = 0; number < kFiles; number++) {
    Job::OpenOptions options;
    options.path = scratch.files_ + "/" + std::to_string(number);
    std::ofstream(options.path).flush();
    files.push_back(*job->open(options));
    const std::byte data[8]{};
    ASSERT_TRUE(files.back()->append(0, data, sizeof data, CallNumber()).ok());
  }
  // The background thread has looked by the time it has drained them.
  while (job->counters().drain_bytes.load() < 8 * kFiles) usleep(1000);
  const auto is_segment = [](const auto& entry) {
    return entry.path().filename().string().starts_with("seg-");
  };
  const std::filesystem::directory_iterator log(job->directory());
  EXPECT_EQ(static_cast<size_t>(std::count_if(begin(log), end(log), is_segment)), kFiles);
  for (const auto& file : files) EXPECT_TRUE(file->closing().release().ok());
}

// A whole one takes milliseconds, and its memory.
TEST(NodePool, FilesBeginWithSmallSegmentsBesideTheLimit) {
  constexpr uint64_t kCapacityOfAll = uint64_t{256} << 20;
  const Scratch scratch;
  auto medium = open_medium(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  SegmentPool pool(**medium, 0, kCapacityOfAll);
  uint64_t small = 0;
  std::vector<SegmentPool::Segment*> little;
  for (;;) {
    auto segment = pool.acquire(SegmentPool::Need::little);
    ASSERT_TRUE(segment.ok());
    little.push_back(*segment);
    if ((*segment)->region->size_bytes() == pool.segment_bytes()) break;
    small += (*segment)->region->size_bytes();
  }
  // The first one is the smallest log.
  EXPECT_EQ(small, kCapacityOfAll / 32 + little.front()->region->size_bytes());
  // They take nothing away from who writes much.
  uint32_t whole = 1;
  while (pool.acquire().ok()) whole++;
  EXPECT_EQ(whole + 1, pool.limit());
  // One that is free is for anybody.
  pool.release(little[1]);
  EXPECT_EQ(*pool.acquire(), little[1]);
}

TEST(NodePool, OnlyKeptSegmentsEndTheWait) {
  const Scratch scratch;
  auto medium = open_medium(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  SegmentPool pool(**medium, 0, kCapacity);
  std::vector<SegmentPool::Segment*> all;
  const uint64_t before = pool.releases();
  for (auto segment = pool.acquire(); segment.ok(); segment = pool.acquire()) all.push_back(*segment);
  ASSERT_EQ(all.size(), pool.limit());
  EXPECT_TRUE(pool.await_release(before));  // in vain, but one can still come
  pool.release(all.back());
  EXPECT_TRUE(pool.await_release(before));
  EXPECT_EQ(*pool.acquire(), all.back());
  const uint64_t seen = pool.releases();
  for (SegmentPool::Segment* each : all) pool.keep(each);
  EXPECT_FALSE(pool.acquire().ok());
  EXPECT_FALSE(pool.await_release(seen));
}

// Has room for so many regions.
class BoundedMedium final : public test::WrappedMedium {
 public:
  BoundedMedium(std::unique_ptr<Medium> medium, const int& room)
      : WrappedMedium(std::move(medium)), room_(room) {}
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    if (created_ >= room_) return Status(Code::no_space, "full", ENOSPC);
    created_++;
    return real().create(name, size_bytes, lasting);
  }

 private:
  const int& room_;
  int created_ = 0;
};

// What another job took for a moment comes back.
TEST(NodePool, AMediumThatWasFullIsAskedAgain) {
  const Scratch scratch;
  int room = 2;
  auto medium = test::open_wrapped<BoundedMedium>(std::cref(room))(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  SegmentPool pool(**medium, 0, kCapacity);
  const uint32_t whole = pool.limit();
  for (int i = 0; i < room; i++) ASSERT_TRUE(pool.acquire().ok());
  EXPECT_FALSE(pool.acquire().ok());
  EXPECT_LT(pool.limit(), whole);
  room = 100;
  EXPECT_FALSE(pool.acquire().ok());  // but not at once, nor each time
  for (int i = 0; i < 1000 && !pool.acquire().ok(); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(pool.limit(), whole);
}

TEST(NodePool, NoLogHasMoreSegmentsThanCanBeMapped) {
  const Scratch scratch;
  auto medium = open_medium(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  for (const uint64_t capacity : {uint64_t{1} << 37, uint64_t{1} << 58, UINT64_MAX})
    EXPECT_EQ(SegmentPool(**medium, 0, capacity).limit(), kMaxSlots) << capacity;
}

// Ahead of a writer, in steps; a segment that is touched in part is taken before one that is not.
TEST(NodePool, SegmentsAreTouchedAheadForAsLongAsItIsAllowed) {
  const Scratch scratch;
  auto medium = open_medium(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  SegmentPool pool(**medium, 0, 256 << 20);
  EXPECT_EQ(pool.wanted_at_first(), 8u);  // an eighth of it
  pool.prefault(2, [] { return false; });
  EXPECT_EQ(pool.with_memory(), 0u);
  static int steps;
  steps = 2;
  pool.prefault(2, [] { return steps-- > 0; });
  ASSERT_EQ(pool.with_memory(), 2u);  // the first, which is small, and a part of another one
  auto first = pool.acquire(), second = pool.acquire();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first.value()->touched.all());
  EXPECT_GT(second.value()->touched.front(), 0u);
  EXPECT_EQ(pool.with_memory(), 2u);
  pool.release(*first);
  pool.release(*second);
  pool.prefault(2, [] { return true; });
  EXPECT_EQ(pool.with_memory(), 3u);
  for (int i = 0; i < 3; i++) {
    auto next = pool.acquire();
    ASSERT_TRUE(next.ok());
    EXPECT_TRUE(next.value()->touched.all());
  }
}

}  // namespace
}  // namespace pmio
