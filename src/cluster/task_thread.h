// A thread that does one task after another. It makes no MPI call and blocks all signals. An exception ends
// its task alone. The constructor throws std::system_error if there can be no thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>

#include "base/mutex.h"
#include "base/quiet_thread.h"

namespace pmio {

class TaskThread {
 public:
  // idle: after the first task, called whenever there has been nothing to do for kIdlePause.
  static constexpr std::chrono::seconds kIdlePause{5};
  explicit TaskThread(std::function<void()> idle = nullptr);
  ~TaskThread();  // drops the tasks that have not begun
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  void post(std::function<void()> task);

 private:
  void loop();
  bool wait(UniqueLock<Mutex>& lock) PMIO_REQUIRES(mutex_);  // false: nothing came
  const std::function<void()> idle_;
  Mutex mutex_;
  Condition condition_;
  std::deque<std::function<void()>> tasks_ PMIO_GUARDED_BY(mutex_);
  bool stop_ PMIO_GUARDED_BY(mutex_) = false;
  bool used_ PMIO_GUARDED_BY(mutex_) = false;
  QuietThread thread_;
};

}  // namespace pmio
