// How a thread that sleeps between two looks at its work is woken, and told to stop.
//
// Threads: one waits, any may call the others.
#pragma once

#include <chrono>

#include "base/mutex.h"

namespace pmio {

class WakeUp {
 public:
  // The wait that goes on, or the next one, ends at once.
  void wake();
  // Every wait does, from now on.
  void stop();
  // Until it is woken, or the time is over. False: it is to stop.
  bool wait();
  bool wait_for(std::chrono::nanoseconds time);
  bool is_stopped();
  // Whether a wait would end at once.
  bool is_due();

 private:
  Mutex mutex_;
  Condition condition_;
  bool stop_ PMIO_GUARDED_BY(mutex_) = false;
  bool woken_ PMIO_GUARDED_BY(mutex_) = false;
};

}  // namespace pmio
