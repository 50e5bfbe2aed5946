#include "base/biased_mutex.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/single_threaded.h"
#include "base/status.h"

namespace pmio {

namespace {

// A barrier costs some microseconds, as much as the owner saves in so many turns.
constexpr uint64_t kPays = 256;
constexpr int kPatience = 16;

bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

bool register_barrier() { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }

std::atomic<bool> has_barrier{false};

// Every running thread of the process has a full barrier between its begin and its end.
void barrier_in_all_threads() {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // The child of a fork must register anew.
  PMIO_ASSERT(register_barrier() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace

thread_local char BiasedMutex::mark_ = 0;

void BiasedMutex::prepare() {
  static const bool has = register_barrier() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  // Relaxed: the kernel orders what counts.
  has_barrier.store(has, std::memory_order_relaxed);
}

void BiasedMutex::prepare_if_alone() {
  if (is_single_threaded()) prepare();
}

// An exchange rather than a store: notify_all must not look for waiters before it.
void BiasedMutex::wake() {
  inside_.exchange(0);
  inside_.notify_all();
}

// others_ is held, not by the owner. The owner may still be inside afterwards.
void BiasedMutex::keep_owner_out() {
  keep_out_.store(1, std::memory_order_relaxed);
  barrier_in_all_threads();
}

// others_ is held, and nobody is inside.
void BiasedMutex::judge() {
  crowded_ = entered_ - entered_before_ < kPays ? crowded_ + 1 : 0;
  entered_before_ = entered_;
  if (crowded_ == kPatience) owner_.store(0, std::memory_order_relaxed);
}

void BiasedMutex::lock_slowly() {
  PMIO_ASSERT(!is_owner() || inside_.load(std::memory_order_relaxed) == 0);  // not recursive
  others_.lock();
  if (first_ == 0) first_ = this_thread();
  if (!had_owner_ && first_ == this_thread() && has_barrier.load(std::memory_order_relaxed)) {
    had_owner_ = true;
    owner_.store(this_thread(), std::memory_order_relaxed);
  } else if (biased() && !is_owner()) {
    keep_owner_out();
    while (inside_.load(std::memory_order_acquire) != 0) inside_.wait(1, std::memory_order_acquire);
    judge();
  }
}

bool BiasedMutex::try_lock_slowly() {
  if (is_owner() && inside_.load(std::memory_order_relaxed) != 0) return false;  // its own
  if (!others_.try_lock()) return false;
  if (!biased() || is_owner()) return true;
  keep_owner_out();
  if (inside_.load(std::memory_order_acquire) == 0) return true;
  unlock_slowly();
  return false;
}

void BiasedMutex::unlock_slowly() {
  if (biased()) keep_out_.store(0, std::memory_order_release);
  others_.unlock();
}

}  // namespace pmio
