// The background thread of a process: keeps segments ready, and drains files when the log fills or the
// program does something else. It makes no MPI call, blocks all signals, and sleeps otherwise.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/quiet_thread.h"
#include "node/job.h"

namespace pmio {

class Background {
 public:
  explicit Background(Job::Impl& job);
  ~Background();  // joins
  // A segment has been taken, or a file opened: look at once.
  void wake();

 private:
  void loop();
  void look();
  Job::Impl& job_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool stop_ = false;
  bool woken_ = false;
  QuietThread thread_;
};

}  // namespace pmio
