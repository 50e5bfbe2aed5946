#include "stats/history.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace pmio {

History::History(uint64_t start_ns, std::chrono::nanoseconds every, std::function<HistoryNumbers()> look)
    : start_ns_(start_ns), look_(std::move(look)) {
  pulse_ = std::make_unique<Pulse>(every, [this] { look_again(); });
}

void History::look_again() {
  const LockGuard lock(mutex_);
  if (beats_++ % step_ == 0) add();
}

// Of equal moments in a row the first and the last one are kept. What is just being moved from a file's
// numbers to the job's is in neither for a moment: nothing ever becomes less.
void History::add() {
  Point now{monotonic_ns() - start_ns_, look_()};
  const size_t count = points_.size();
  if (count > 0) {
#define PMIO_RAISE(name) now.numbers.name = std::max(now.numbers.name, points_.back().numbers.name);
    PMIO_HISTORY(PMIO_RAISE)
#undef PMIO_RAISE
  }
  if (count >= 2 && points_[count - 1].numbers == now.numbers && points_[count - 2].numbers == now.numbers) {
    points_.back().at_ns = now.at_ns;
    return;
  }
  points_.push_back(now);
  if (points_.size() < kMost) return;
  for (size_t i = 1; 2 * i < points_.size(); i++) points_[i] = points_[2 * i];
  points_.resize((points_.size() + 1) / 2);
  step_ *= 2;
}

History::Points History::points() {
  const LockGuard lock(mutex_);
  add();
  return points_;
}

}  // namespace pmio
