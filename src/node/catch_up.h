// The thread of a process that completes files which lag: closed by pmio_close=background, and not drained
// yet (docs/decisions/0026-a-close-that-does-not-wait.md). It begins at once, for nobody writes them any
// more, and runs at a lower priority than the program. It makes no MPI call, and blocks all signals.
#pragma once

#include "base/quiet_thread.h"
#include "base/wake_up.h"
#include "node/job.h"

namespace pmio {

class CatchUp {
 public:
  // Throws std::system_error if there can be no more threads.
  explicit CatchUp(Job::Impl& job);
  ~CatchUp();  // joins; what still lags does so on
  // A file lags from now on.
  void wake() { wake_up_.wake(); }

 private:
  void loop();
  bool complete_all();
  Job::Impl& job_;
  WakeUp wake_up_;
  QuietThread thread_;
};

}  // namespace pmio
