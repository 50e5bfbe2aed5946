// How a process leaves the log that ends without leaving its job: by exit without MPI_Finalize, by a signal,
// by exec, by MPI_Abort (docs/decisions/0019-ends-of-programs.md).
//
// The work is the background thread's, or a new thread's if there is none. Whoever ends may hold any lock of
// pmio's or of the C library's, as a signal may have come anywhere. It only waits, as long as the drain gets
// on, and kPatience longer: a file system that hangs must not hang the end.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/quiet_thread.h"
#include "node/job.h"

namespace pmio {

class Ending {
 public:
  explicit Ending(Job::Impl& job);
  ~Ending();

  // may_start_thread: not in a signal handler, which does nothing where there is no background thread.
  void await(bool may_start_thread);
  // After await, where nothing is left in the log: until all ranks of the node have come so far, or a tenth
  // of a second. Some launchers kill who ends later than another rank.
  void await_others() const;
  // The background thread: whether it is its turn, and the work itself.
  bool is_asked() const { return state_.load(std::memory_order_acquire) == State::asked; }
  void serve();

 private:
  enum class State : int { none, asked, served };
  using Files = std::vector<std::shared_ptr<File>>;
  uint64_t progress() const;
  void say_stuck() const;
  bool first_to_say() const;
  Status drain(const Files& files) const;
  void say_left(const Files& files, const Status& why) const;
  bool close_log(const Files& files) const;

  Job::Impl& job_;
  std::atomic<State> state_{State::none};
  QuietThread thread_;  // where there is no background thread
  // Made before, as a signal handler can not.
  const std::string mark_, stuck_;
};

}  // namespace pmio
