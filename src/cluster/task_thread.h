// A thread that does one thing after another; it makes no MPI call and blocks all signals. What a task throws
// ends the task alone. Without a thread it throws std::system_error when it is made.
#pragma once

#include <chrono>
#include <deque>
#include <functional>

#include "base/mutex.h"
#include "base/quiet_thread.h"

namespace pmio {

class TaskThread {
 public:
  // idle: called every kIdlePause in which there is nothing to do, once there has been something.
  static constexpr std::chrono::seconds kIdlePause{5};
  explicit TaskThread(std::function<void()> idle = nullptr);
  ~TaskThread();  // what has not begun is dropped
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
