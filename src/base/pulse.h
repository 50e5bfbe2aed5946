// Does something at once and then at intervals, on a thread that does nothing else, blocks all signals, and
// sleeps otherwise. If there can be no more threads, it is done once.
#pragma once

#include <chrono>
#include <functional>

#include "base/mutex.h"
#include "base/quiet_thread.h"

namespace pmio {

class Pulse {
 public:
  Pulse(std::chrono::nanoseconds every, std::function<void()> beat);
  ~Pulse();  // joins

 private:
  void loop();
  const std::chrono::nanoseconds every_;
  const std::function<void()> beat_;
  Mutex mutex_;
  Condition condition_;
  bool stop_ PMIO_GUARDED_BY(mutex_) = false;
  QuietThread thread_;
};

}  // namespace pmio
