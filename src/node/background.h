// The background thread of a process: keeps segments ready, and drains files when the log fills or the
// program does something else. It makes no MPI call, blocks all signals, and sleeps otherwise: for longer if
// the program writes nothing, as each look takes time from one that computes on all processors.
#pragma once

#include "base/quiet_thread.h"
#include "base/wake_up.h"
#include "node/job.h"

namespace pmio {

class Background {
 public:
  explicit Background(Job::Impl& job);
  ~Background();  // joins
  // A segment has been taken, or a file opened: look at once.
  void wake() { wake_up_.wake(); }

 private:
  void loop();
  bool look();
  uint32_t wanted_ahead(uint32_t tables, uint32_t with_segment, bool may_be_logged);
  Job::Impl& job_;
  WakeUp wake_up_;
  uint64_t unwritten_ns_ = 0;  // since then files are open, and none has a segment; 0: it is not so
  QuietThread thread_;
};

}  // namespace pmio
