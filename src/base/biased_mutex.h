// A mutex that costs no locked instruction in the thread that takes it nearly always, and a system call in
// any other thread. A locked instruction waits for all earlier stores, and after a copy that takes long.
//
// The first thread that takes it is its owner, as soon as the kernel has been asked for barriers (prepare).
// The owner says with a plain store that it is inside, and then looks whether it was asked to keep out.
// Another thread asks it to keep out, and has the kernel put a barrier into all running threads of the
// process (membarrier(2)). Only then does it look whether the owner is inside. So at least one of the two
// sees the other. If others come about as often as the owner, it becomes a plain mutex, the one that the
// others take anyway. So it does if the kernel has no such barrier.
//
// It is held by LockGuard and UniqueLock (base/mutex.h), whose use clang checks; its own code is not checked.
// It is not recursive. A thread must not end while it holds it.
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
    // A thread that waits has a barrier between its question and its look at inside_. So either this sees the
    // question, or that look sees the store.
    if (keep_out_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake();
  }

  // Prepares all mutexes of this class; until then they are plain. If the process has more than one thread,
  // the kernel waits for an RCU grace period, 3 to 30 ms.
  static void prepare();
  // The same if this thread is the only one: then it costs nothing.
  static void prepare_if_alone();

  bool biased() const { return owner_.load(std::memory_order_relaxed) != 0; }

 private:
  static uintptr_t this_thread() { return reinterpret_cast<uintptr_t>(&mark_); }
  bool is_owner() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }

  // Takes the mutex without others_; only the owner can.
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
  void wake();  // the owner is not inside, and tells the thread that waits for that
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
  // Changed while the mutex is held.
  uintptr_t first_ = 0;  // the first thread that took it
  bool had_owner_ = false;
  uint64_t entered_ = 0;         // how often the owner took it without others_
  uint64_t entered_before_ = 0;  // entered_ when another thread came last
  int crowded_ = 0;              // how often in a row the owner had hardly come between two other threads
};

}  // namespace pmio
