#include "base/pulse.h"

#include <system_error>
#include <utility>

#include "base/quiet_thread.h"

namespace pmio {

Pulse::Pulse(std::chrono::nanoseconds every, std::function<void()> beat)
    : every_(every), beat_(std::move(beat)) {
  beat_();
  try {
    thread_ = QuietThread([this] { loop(); });
  } catch (const std::system_error&) {
    // Then what it says is believed less.
  }
}

Pulse::~Pulse() {
  {
    const LockGuard lock(mutex_);
    stop_ = true;
  }
  condition_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Pulse::loop() {
  UniqueLock lock(mutex_);
  while (!condition_.wait_for(lock, every_, [this]() PMIO_REQUIRES(mutex_) { return stop_; })) beat_();
}

}  // namespace pmio
