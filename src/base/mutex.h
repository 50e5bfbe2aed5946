// The standard library's mutex, locks and condition variable, with contracts that clang checks
// (base/thread_annotations.h). They do and cost the same.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/thread_annotations.h"

namespace pmio {

// Waits for the mutex only if it is told to. False: it is not held.
template <class AnyMutex>
bool lock_or_try(AnyMutex& mutex, bool waits) PMIO_TRY_ACQUIRE(true, mutex) PMIO_NO_THREAD_SAFETY_ANALYSIS {
  if (!waits) return mutex.try_lock();
  mutex.lock();
  return true;
}

class PMIO_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() PMIO_ACQUIRE() { mutex_.lock(); }
  bool try_lock() PMIO_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() PMIO_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds a mutex of any class that is a capability.
template <class AnyMutex>
class PMIO_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(AnyMutex& mutex) PMIO_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~LockGuard() PMIO_RELEASE() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  AnyMutex& mutex_;
};

// The same, and can let go of it meanwhile, or begin without it.
template <class AnyMutex>
class PMIO_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(AnyMutex& mutex) PMIO_ACQUIRE(mutex) : mutex_(mutex) { lock(); }
  UniqueLock(AnyMutex& mutex, std::defer_lock_t /*tag*/) PMIO_EXCLUDES(mutex) : mutex_(mutex) {}
  ~UniqueLock() PMIO_RELEASE() {
    if (held_) mutex_.unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;
  void lock() PMIO_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  bool try_lock() PMIO_TRY_ACQUIRE(true) {
    held_ = mutex_.try_lock();
    return held_;
  }
  void unlock() PMIO_RELEASE() {
    mutex_.unlock();
    held_ = false;
  }
  bool owns_lock() const { return held_; }

 private:
  friend class Condition;
  AnyMutex& mutex_;
  bool held_ = false;
};

// Waits with a mutex held, until `done`, which is called with the mutex held and says so (PMIO_REQUIRES).
class Condition {
 public:
  template <class Done>
  void wait(UniqueLock<Mutex>& lock, const Done& done) {
    Native native(lock);
    condition_.wait(native.lock, done);
  }
  // False: it is not done when the time is over.
  template <class Duration, class Done>
  bool wait_for(UniqueLock<Mutex>& lock, const Duration& longest, const Done& done) {
    Native native(lock);
    return condition_.wait_for(native.lock, longest, done);
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  // The lock as the standard library wants it, for the time of a call.
  struct Native {
    explicit Native(UniqueLock<Mutex>& held) : lock(held.mutex_.mutex_, std::adopt_lock) {}
    ~Native() { lock.release(); }
    Native(const Native&) = delete;
    Native& operator=(const Native&) = delete;
    std::unique_lock<std::mutex> lock;
  };
  std::condition_variable condition_;
};

}  // namespace pmio
