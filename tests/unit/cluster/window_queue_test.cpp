// What is fetched while a window is written, and in which order windows come.
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

// Counts what has been fetched.
class Fetches {
 public:
  WindowQueue::Fetch function() {
    return [this](const WindowQueue::Window&, size_t) {
      const std::lock_guard lock(mutex_);
      count_++;
      changed_.notify_all();
      Fetched fetched;
      fetched.pieces.resize(1);
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
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t count_ = 0;
};

TEST(WindowQueue, GivesEachWindowOnceInOrder) {
  Fetches fetches;
  WindowQueue queue(windows(20), 2, fetches.function());
  WindowQueue::Window window;
  Fetched others;
  for (uint64_t i = 0; i < 20; i++) {
    const auto more = queue.take(&window, &others);
    ASSERT_TRUE(more.ok() && more.value());
    EXPECT_EQ(window.number, i);
    EXPECT_EQ(others.pieces.size(), i % 3 == 0 ? 0u : 1u);
  }
  EXPECT_FALSE(queue.take(&window, &others).value());
}

TEST(WindowQueue, FetchesOneForEachStreamWhileOneIsWritten) {
  for (const size_t streams : {1u, 4u}) {
    Fetches fetches;
    WindowQueue queue(windows(100), streams, fetches.function());
    WindowQueue::Window window;
    Fetched others;
    for (int i = 0; i < 2; i++)
      ASSERT_TRUE(queue.take(&window, &others).ok());  // the node's own, and a fetched one
    EXPECT_TRUE(fetches.reach(1 + streams)) << streams;
  }
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
