#include "base/biased_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace pmio {
namespace {

using std::chrono::microseconds;

// Made owned by the calling thread.
struct Owned {
  BiasedMutex mutex;
  Owned() {
    BiasedMutex::prepare();
    const std::lock_guard lock(mutex);
  }
};

// Not atomic on purpose: what the mutex has to protect.
struct Pair {
  uint64_t first = 0, second = 0;
  void raise() {
    ASSERT_EQ(first, second);
    first++;
    second++;
  }
};

// Comes first: what has been prepared stays.
TEST(BiasedMutex, BeforeItIsPreparedItIsPlainAndThenTheFirstThreadOwnsIt) {
  BiasedMutex mutex;
  { const std::lock_guard lock(mutex); }
  EXPECT_FALSE(mutex.biased());
  std::thread([&] {
    BiasedMutex::prepare_if_alone();  // it is not
    const std::lock_guard lock(mutex);
  }).join();
  EXPECT_FALSE(mutex.biased());
  BiasedMutex::prepare();
  std::thread([&] { const std::lock_guard lock(mutex); }).join();
  EXPECT_FALSE(mutex.biased()) << "another thread owns it";
  { const std::lock_guard lock(mutex); }
  Owned known;
  EXPECT_EQ(mutex.biased(), known.mutex.biased());
}

TEST(BiasedMutex, OwnerAndOthersExcludeEachOther) {
  Owned owned;
  Pair pair;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> others{0};
  std::vector<std::thread> threads;
  for (const bool tries : {false, true}) {
    threads.emplace_back([&, tries] {
      while (!done) {
        std::unique_lock lock(owned.mutex, std::defer_lock);
        if (tries) {
          if (!lock.try_lock()) continue;
        } else {
          lock.lock();
        }
        pair.raise();
        others++;
        lock.unlock();
        // So seldom that the bias stays.
        std::this_thread::sleep_for(microseconds(tries ? 100 : 200));
      }
    });
  }
  uint64_t own = 0;
  for (; own < 300'000 || others < 200; own++) {
    const std::lock_guard lock(owned.mutex);
    pair.raise();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pair.first, own + others);
}

TEST(BiasedMutex, WhoWaitsForAnOwnerThatStaysInsideIsWoken) {
  Owned owned;
  bool was_inside = false;
  owned.mutex.lock();
  std::thread other([&] {
    const std::lock_guard lock(owned.mutex);
    EXPECT_TRUE(was_inside);
  });
  std::this_thread::sleep_for(microseconds(20'000));
  was_inside = true;
  owned.mutex.unlock();
  other.join();
  EXPECT_TRUE(owned.mutex.biased());
}

TEST(BiasedMutex, TheOwnerWaitsForAnotherThread) {
  Owned owned;
  std::atomic<bool> has{false};
  bool left = false;
  std::thread other([&] {
    const std::lock_guard lock(owned.mutex);
    has = true;
    std::this_thread::sleep_for(microseconds(20'000));
    left = true;
  });
  while (!has) std::this_thread::yield();
  EXPECT_FALSE(owned.mutex.try_lock());
  {
    const std::lock_guard lock(owned.mutex);
    EXPECT_TRUE(left);
  }
  other.join();
}

TEST(BiasedMutex, TryingFailsWhileTheOwnerIsInside) {
  Owned owned;
  owned.mutex.lock();
  std::thread([&] { EXPECT_FALSE(owned.mutex.try_lock()); }).join();
  EXPECT_FALSE(owned.mutex.try_lock());
  owned.mutex.unlock();
  EXPECT_TRUE(owned.mutex.try_lock());
  owned.mutex.unlock();
  std::thread([&] {
    ASSERT_TRUE(owned.mutex.try_lock());
    owned.mutex.unlock();
  }).join();
}

TEST(BiasedMutex, WhereOthersComeAsOftenItIsPlainAndStillExcludes) {
  Owned owned;
  if (!owned.mutex.biased()) GTEST_SKIP() << "the kernel has no membarrier";
  Pair pair;
  constexpr uint64_t kTimes = 50'000;
  const auto raise = [&] {
    for (uint64_t i = 0; i < kTimes; i++) {
      const std::lock_guard lock(owned.mutex);
      pair.raise();
    }
  };
  std::thread(raise).join();
  EXPECT_FALSE(owned.mutex.biased());
  std::thread first(raise), second(raise);
  raise();
  first.join();
  second.join();
  EXPECT_EQ(pair.first, 4 * kTimes);
}

}  // namespace
}  // namespace pmio
