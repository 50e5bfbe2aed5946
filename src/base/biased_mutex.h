// A mutex that costs no locked instruction in the thread that takes it nearly always, and a system call in
// any other. A locked instruction waits for all that was stored before it, which behind a copy is long.
//
// The first thread that takes it is its owner, as soon as the kernel has been asked for barriers (prepare).
// The owner says that it is inside with a plain store, and then looks whether it has been asked to keep out;
// another thread asks for that, has the kernel put a barrier into all running threads of the process
// (membarrier(2)), and only then looks whether the owner is inside. So at least one of them sees the other.
// Where others come about as often as the owner, or where the kernel has no such barrier, it becomes the
// plain mutex that the others take anyway.
//
// For LockGuard and UniqueLock (base/mutex.h), which are checked against it; how it holds itself is not. Not
// recursive. A thread ends without holding it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/thread_annotations.h"

namespace pmio {

class PMIO_CAPABILITY("mutex") BiasedMutex {
 public:
  BiasedMutex() = default;
  BiasedMutex(const BiasedMutex&) = delete;
  BiasedMutex& operator=(const BiasedMutex&) = delete;

  void lock() PMIO_ACQUIRE() PMIO_NO_THREAD_SAFETY_ANALYSIS {
    if (!enter()) lock_slowly();
  }
  bool try_lock() PMIO_TRY_ACQUIRE(true) PMIO_NO_THREAD_SAFETY_ANALYSIS {
    return enter() || try_lock_slowly();
  }
  void unlock() PMIO_RELEASE() PMIO_NO_THREAD_SAFETY_ANALYSIS {
    if (!is_owner() || inside_.load(std::memory_order_relaxed) == 0) return unlock_slowly();
    inside_.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Whoever waits has put a barrier between its asking and its look at inside_: this sees the question, or
    // that look sees the store.
    if (keep_out_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake();
  }

  // Once for all of them; until then they are plain. The kernel waits for an RCU grace period, 3 to 30 ms,
  // where the process has more than one thread.
  static void prepare();
  // The same where that costs nothing: this thread is the only one.
  static void prepare_if_alone();

  bool biased() const { return owner_.load(std::memory_order_relaxed) != 0; }

 private:
  static uintptr_t this_thread() { return reinterpret_cast<uintptr_t>(&mark_); }
  bool is_owner() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }

  // Without others_; only the owner can.
  bool enter() {
    if (!is_owner() || inside_.load(std::memory_order_relaxed) != 0) return false;
    inside_.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (keep_out_.load(std::memory_order_acquire) == 0) [[likely]] {
      entered_++;
      return true;
    }
    wake();
    return false;
  }
  void wake();  // the owner is not inside, and whoever waits for that learns it
  void lock_slowly();
  bool try_lock_slowly();
  void unlock_slowly();
  void keep_owner_out();
  void judge();  // whether the bias pays

  // Its address tells threads apart.
  static thread_local char mark_ __attribute__((tls_model("initial-exec")));

  std::atomic<uintptr_t> owner_{0};  // 0: none yet, or none any more
  std::atomic<int> inside_{0};       // the owner holds the mutex without others_, or is about to look
  std::atomic<int> keep_out_{0};     // stored under others_; for good where there is no owner any more
  std::mutex others_;                // held by whoever holds the mutex, but for an owner that is inside_
  // Under the mutex.
  uintptr_t first_ = 0;  // the first thread that took it
  bool had_owner_ = false;
  uint64_t entered_ = 0;         // how often the owner did, without others_
  uint64_t entered_before_ = 0;  // when another thread came last
  int crowded_ = 0;              // how often in a row the owner had hardly come between two of others
};

}  // namespace pmio
