// What becomes of a job whose log directory, or its files, somebody has removed under it. Mappings outlive
// names: what was logged is written to the files, and the job goes on without the log.
//
// Whoever misses a name, or looks at rare moments, finds out by the file `alive`. From then on its process
// logs nothing more (Membership::go_past_log), and tells the other ranks of each file that it has open
// (FileControl::log_is_lost). A rank gives up its log of a file: its last segment takes nothing more. What
// others may not be able to map any more it copies to where they can (node/log_copies.h). Whoever drains
// waits until it reaches all that is undrained, by a mapping or a copy.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "base/status.h"
#include "node/job.h"
#include "node/log_copies.h"

namespace pmio {

class LostLog {
 public:
  explicit LostLog(Job::Impl& job);
  ~LostLog();

  // Whether it is lost, as far as this process has heard: no system call.
  bool is_known() const { return known_.load(std::memory_order_acquire); }
  // The same; another rank may have told it, of this file.
  bool is_known(const FileControl& control);
  // The same, with a look at the directory.
  bool look();
  bool look(const FileControl& control) { return is_known(control) || look(); }
  // The same, after a failure. Where a name was missing whoever removes them may still be at it: waits.
  bool look_patiently(const FileControl& control);
  // The background thread's: now and then.
  bool look_now_and_then(uint64_t now_ns);
  // Gives up this process's log of all files that are open. Of those in which a thread is just appending
  // later: a thread that waits while it appends comes here itself.
  void give_up();
  // Of segments that hold nothing undrained. The background thread's.
  void give_memory_back();
  // Whether no other process of the job on this node has anything in the log any more; waits for that, for a
  // while, once.
  bool await_others();
  // LogCopies::add; *descriptor: of the copies.
  Status copy(uint32_t slot, uint64_t salt, const Region& segment, uint32_t from, uint32_t to,
              int* descriptor);
  // Why a file is not logged.
  Status status() const;

 private:
  bool is_clean() const;
  void note_clean();
  void declare();
  Job::Impl& job_;
  std::atomic<bool> known_{false};
  std::atomic<bool> clean_{false};  // it does not count in SharedLoss::dirty any more
  std::atomic<bool> waited_{false};
  uint64_t next_look_ns_ = 0;
  Mutex mutex_;
  LogCopies copies_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
