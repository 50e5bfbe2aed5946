#include "cluster/task_thread.h"

#include <exception>
#include <utility>

#include "base/quiet_thread.h"

namespace pmio {

TaskThread::TaskThread(std::function<void()> idle) : idle_(std::move(idle)), thread_([this] { loop(); }) {}

TaskThread::~TaskThread() {
  {
    const LockGuard lock(mutex_);
    stop_ = true;
    tasks_.clear();
  }
  condition_.notify_one();
  thread_.join();
}

void TaskThread::post(std::function<void()> task) {
  {
    const LockGuard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  condition_.notify_one();
}

bool TaskThread::wait(UniqueLock<Mutex>& lock) {
  const auto due = [this]() PMIO_REQUIRES(mutex_) { return stop_ || !tasks_.empty(); };
  if (idle_ != nullptr && used_) return condition_.wait_for(lock, kIdlePause, due);
  condition_.wait(lock, due);
  return true;
}

void TaskThread::loop() {
  for (;;) {
    std::function<void()> task = idle_;
    {
      UniqueLock lock(mutex_);
      const bool came = wait(lock);
      if (stop_) return;
      if (came) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
        used_ = true;
      }
    }
    try {
      task();
    } catch (const std::exception&) {
      // There is no memory, or no thread. The destroyed task tells whoever waits for its answer (PeerReply).
    }
  }
}

}  // namespace pmio
