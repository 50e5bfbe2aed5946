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
  wake_up_.stop();
  thread_.join();
}

void CatchUp::loop() {
  // On Linux of this thread alone.
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice + kNicer);
  bool complete = true;
  while (complete ? wake_up_.wait() : wake_up_.wait_for(kRetry)) {
    try {
      complete = complete_all();
      if (complete) warm_log();
    } catch (const std::bad_alloc&) {
      complete = false;
    }
  }
}

void CatchUp::warm_log_for(uint64_t bytes) {
  wanted_warm_bytes_.store(bytes, std::memory_order_relaxed);
  wake();
}

// A step at a time, so that neither a file that lags nor the end of the job waits for it.
void CatchUp::warm_log() {
  SegmentPool& pool = job_.member->pool();
  pool.prefault(pool.wanted_for(wanted_warm_bytes_.load(std::memory_order_relaxed)),
                [this] { return !wake_up_.is_due(); });
}

// False: some file has to be tried again.
bool CatchUp::complete_all() {
  bool complete = true;
  for (const auto& file : job_.files.lagging()) {
    if (wake_up_.is_stopped()) return true;
    const Status status = job_.files.complete(file);
    if (status.ok()) continue;
    complete = false;
    if (job_.member->options().say) job_.member->options().say(file->closing().lags_on(status).message());
  }
  return complete;
}

}  // namespace pmio
