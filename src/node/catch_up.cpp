#include "node/catch_up.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <new>

#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

// A thread of the program that computes gets ten times as much of a processor. At a still lower priority a
// rank that waits for a round could wait for this thread, where all processors are busy.
constexpr int kNicer = 10;
constexpr std::chrono::seconds kRetry{1};  // after a failed drain

CatchUp::CatchUp(Job::Impl& job) : job_(job), thread_([this] { loop(); }) {}

CatchUp::~CatchUp() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  condition_.notify_one();
  thread_.join();
}

void CatchUp::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  condition_.notify_one();
}

bool CatchUp::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void CatchUp::loop() {
  // On Linux of this thread alone.
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice + kNicer);
  for (bool complete = true;;) {
    {
      std::unique_lock lock(mutex_);
      const auto is_due = [this] { return stop_ || woken_; };
      complete ? condition_.wait(lock, is_due) : (void)condition_.wait_for(lock, kRetry, is_due);
      if (stop_) return;
      woken_ = false;
    }
    try {
      complete = complete_all();
    } catch (const std::bad_alloc&) {
      complete = false;
    }
  }
}

// False: some file has to be tried again.
bool CatchUp::complete_all() {
  bool complete = true;
  for (const auto& file : job_.files.lagging()) {
    if (is_stopped()) return true;
    const Status status = job_.files.complete(file);
    if (status.ok()) continue;
    complete = false;
    if (job_.member->options().say) job_.member->options().say(file->lags_on(status).message());
  }
  return complete;
}

}  // namespace pmio
