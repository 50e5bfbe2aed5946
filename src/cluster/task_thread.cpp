#include "cluster/task_thread.h"

#include <signal.h>

#include <utility>

namespace pmio {

std::thread quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

TaskThread::TaskThread(std::function<void()> idle)
    : idle_(std::move(idle)), thread_(quiet_thread([this] { loop(); })) {}

TaskThread::~TaskThread() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    tasks_.clear();
  }
  condition_.notify_one();
  thread_.join();
}

void TaskThread::post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  condition_.notify_one();
}

bool TaskThread::wait(std::unique_lock<std::mutex>& lock) {
  const auto due = [this] { return stop_ || !tasks_.empty(); };
  if (idle_ != nullptr && used_) return condition_.wait_for(lock, kIdlePause, due);
  condition_.wait(lock, due);
  return true;
}

void TaskThread::loop() {
  for (;;) {
    std::function<void()> task = idle_;
    {
      std::unique_lock lock(mutex_);
      const bool came = wait(lock);
      if (stop_) return;
      if (came) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
        used_ = true;
      }
    }
    task();
  }
}

}  // namespace pmio
