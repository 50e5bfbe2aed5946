#include "base/wake_up.h"

namespace pmio {

void WakeUp::wake() {
  {
    const LockGuard lock(mutex_);
    woken_ = true;
  }
  condition_.notify_one();
}

void WakeUp::stop() {
  {
    const LockGuard lock(mutex_);
    stop_ = true;
  }
  condition_.notify_one();
}

bool WakeUp::wait() {
  UniqueLock lock(mutex_);
  condition_.wait(lock, [this]() PMIO_REQUIRES(mutex_) { return stop_ || woken_; });
  woken_ = false;
  return !stop_;
}

bool WakeUp::wait_for(std::chrono::nanoseconds time) {
  UniqueLock lock(mutex_);
  condition_.wait_for(lock, time, [this]() PMIO_REQUIRES(mutex_) { return stop_ || woken_; });
  woken_ = false;
  return !stop_;
}

bool WakeUp::is_stopped() {
  const LockGuard lock(mutex_);
  return stop_;
}

bool WakeUp::is_due() {
  const LockGuard lock(mutex_);
  return stop_ || woken_;
}

}  // namespace pmio
