// A thread that does one thing after another; it makes no MPI call and blocks all signals. What a task throws
// ends the task alone. Without a thread it throws std::system_error when it is made.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

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
  bool wait(std::unique_lock<std::mutex>& lock);  // false: nothing came
  const std::function<void()> idle_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable condition_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false, used_ = false;
  QuietThread thread_;
};

}  // namespace pmio
