// The thread of a process that completes files which lag: closed by pmio_close=background, and not drained
// yet (docs/decisions/0026-a-close-that-does-not-wait.md). It begins at once, for nobody writes them any
// more, and runs at a lower priority than the program. It makes no MPI call, and blocks all signals.
//
// When all are complete it touches a part of the log: as much as the last of them wrote past it because it
// was cold. The next one of that kind finds it warm.
#pragma once

#include <atomic>
#include <cstdint>

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
  // So many bytes of a file that is just closed went past the log because that was cold.
  void warm_log_for(uint64_t bytes);

 private:
  void loop();
  bool complete_all();
  void warm_log();
  Job::Impl& job_;
  WakeUp wake_up_;
  std::atomic<uint64_t> wanted_warm_bytes_{0};  // by the last file
  QuietThread thread_;
};

}  // namespace pmio
