#include "cluster/window_queue.h"

#include <utility>

namespace pmio {

WindowQueue::WindowQueue(std::vector<Window> windows, size_t streams, Fetch fetch)
    : fetch_(std::move(fetch)), streams_(streams), windows_(std::move(windows)) {
  PMIO_ASSERT(streams_ > 0);
}

// Fetches for the window that is taken next, and for one more window per stream.
void WindowQueue::begin_fetches() {
  const size_t taken = windows_[next_].nodes.empty() ? 0 : 1;
  for (; begun_ < windows_.size() && (begun_ <= next_ || ahead_.size() < taken + streams_); begun_++) {
    const Window& window = windows_[begun_];
    if (window.nodes.empty()) continue;
    // If there can be no more threads, whoever takes the window fetches.
    ahead_.push_back(std::async(std::launch::async | std::launch::deferred,
                                [this, &window, turn = turns_++] { return fetch_(window, turn); }));
  }
}

Result<bool> WindowQueue::take(Window* window, Fetched* others) {
  std::future<Result<Fetched>> fetched;
  {
    const LockGuard lock(mutex_);
    if (next_ == windows_.size()) return false;
    begin_fetches();
    *window = windows_[next_++];
    *others = {};
    if (window->nodes.empty()) return true;
    PMIO_ASSERT(begun_ >= next_ && !ahead_.empty());  // its fetch has begun
    fetched = std::move(ahead_.front());
    ahead_.pop_front();
  }
  Result<Fetched> got = fetched.get();
  if (!got.ok()) return got.status();
  *others = std::move(got.value());
  return true;
}

void WindowQueue::stop() {
  const LockGuard lock(mutex_);
  next_ = begun_ = windows_.size();
}

}  // namespace pmio
