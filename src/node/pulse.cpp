#include "node/pulse.h"

#include <chrono>

#include "base/quiet_thread.h"
#include "log/last_seen.h"

namespace pmio {

Pulse::Pulse(int fd) : fd_(fd), thread_(quiet_thread([this] { loop(); })) {}

Pulse::~Pulse() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  condition_.notify_one();
  thread_.join();
}

void Pulse::loop() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    // One that says nothing, or not for long, is believed less.
    static_cast<void>(note_seen(fd_));
    condition_.wait_for(lock, std::chrono::nanoseconds(kSeenEveryNs), [this] { return stop_; });
  }
}

}  // namespace pmio
