// What is fetched while a window is written, in which order windows come, and how much is held.
#include "cluster/window_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <condition_variable>

namespace pmio {
namespace {

using namespace std::chrono_literals;

// Every third one is the node's own.
std::vector<WindowQueue::Window> windows(uint64_t count) {
  std::vector<WindowQueue::Window> all;
  for (uint64_t i = 0; i < count; i++)
    all.push_back({i, i % 3 == 0 ? std::vector<uint32_t>() : std::vector<uint32_t>{1}});
  return all;
}

// Counts what has been fetched, windows of so many bytes.
class Fetches {
 public:
  explicit Fetches(size_t bytes) : bytes_(bytes) {}
  WindowQueue::Fetch function() {
    return [this](const WindowQueue::Window&, size_t) {
      const std::lock_guard lock(mutex_);
      count_++;
      changed_.notify_all();
      Fetched fetched;
      fetched.bytes = bytes_;
      return Result<Fetched>(std::move(fetched));
    };
  }
  // Of so many, and of no more.
  bool reach(size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 20s, [&] { return count_ >= count; })) return false;
    return !changed_.wait_for(lock, 50ms, [&] { return count_ > count; });
  }

 private:
  const size_t bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t count_ = 0;
};

TEST(WindowQueue, GivesEachWindowOnceInOrder) {
  Fetches fetches(100);
  WindowQueue queue(windows(20), 2, fetches.function());
  WindowQueue::Window window;
  Fetched others;
  for (uint64_t i = 0; i < 20; i++) {
    const auto more = queue.take(&window, &others);
    ASSERT_TRUE(more.ok() && more.value());
    EXPECT_EQ(window.number, i);
    EXPECT_EQ(others.bytes, i % 3 == 0 ? 0u : 100u);
  }
  EXPECT_FALSE(queue.take(&window, &others).value());
}

TEST(WindowQueue, FetchesThreeForEachStreamWhileOneIsWritten) {
  for (const size_t streams : {1u, 4u}) {
    Fetches fetches(100);
    WindowQueue queue(windows(100), streams, fetches.function());
    WindowQueue::Window window;
    Fetched others;
    for (int i = 0; i < 2; i++)
      ASSERT_TRUE(queue.take(&window, &others).ok());  // the node's own, and a fetched one
    EXPECT_TRUE(fetches.reach(1 + 3 * streams)) << streams;
  }
}

TEST(WindowQueue, FetchesFewerOfLargeOnes) {
  Fetches fetches(WindowQueue::kMostBytesAhead / 2);
  WindowQueue queue(windows(100), 1, fetches.function());
  WindowQueue::Window window;
  Fetched others;
  for (int i = 0; i < 10; i++) ASSERT_TRUE(queue.take(&window, &others).ok());
  EXPECT_TRUE(fetches.reach(6 + 2));  // of windows 0 to 9 six are shared
}

TEST(WindowQueue, AnErrorIsToldAndNothingMoreIsBegun) {
  std::atomic<int> begun{0};
  WindowQueue queue(windows(100), 1, [&](const WindowQueue::Window&, size_t) {
    begun++;
    return Result<Fetched>(Status::from_errno(EHOSTUNREACH, "gone"));
  });
  WindowQueue::Window window;
  Fetched others;
  EXPECT_TRUE(queue.take(&window, &others).ok());
  EXPECT_EQ(queue.take(&window, &others).status().system_errno(), EHOSTUNREACH);
  const int before = begun;
  queue.stop();
  EXPECT_FALSE(queue.take(&window, &others).value());
  EXPECT_EQ(begun, before);
}

}  // namespace
}  // namespace pmio
