// What the contracts of base/mutex.h must let clang find, and what it must let pass: clang compares what it
// says with the comments (-verify), each before its line.
#include "base/biased_mutex.h"
#include "base/mutex.h"

namespace pmio {

class Counter {
 public:
  void add_held() PMIO_REQUIRES(mutex_) { value_++; }
  void add() {
    const LockGuard lock(mutex_);
    add_held();
  }
  bool try_add() {
    UniqueLock lock(mutex_, std::defer_lock);
    if (!lock.try_lock()) return false;
    add_held();
    return true;
  }
  void wait() {
    UniqueLock lock(mutex_);
    changed_.wait(lock, [this]() PMIO_REQUIRES(mutex_) { return value_ > 0; });
    lock.unlock();
    changed_.notify_all();
  }

  // expected-error@+1 {{writing variable 'value_' requires holding}}
  void add_unlocked() { value_++; }
  // expected-error@+1 {{reading variable 'value_' requires holding}}
  int look_unlocked() const { return value_; }
  // expected-error@+1 {{calling function 'add_held' requires holding}}
  void call_unlocked() { add_held(); }
  void add_late() {
    UniqueLock lock(mutex_);
    lock.unlock();
    // expected-error@+1 {{writing variable 'value_' requires holding}}
    value_++;
  }
  void add_anyhow() {
    UniqueLock lock(mutex_, std::defer_lock);
    lock.try_lock();
    // expected-error@+1 {{writing variable 'value_' requires holding}}
    value_++;
  }
  void wait_unlocked() {
    UniqueLock lock(mutex_);
    // expected-error@+1 {{reading variable 'value_' requires}}
    changed_.wait(lock, [this] { return value_ > 0; });
  }
  void lock_twice() {
    // expected-note@+1 {{mutex acquired here}}
    const LockGuard lock(mutex_);
    // expected-error@+1 {{acquiring mutex 'mutex_' that is already held}}
    const LockGuard again(mutex_);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int value_ PMIO_GUARDED_BY(mutex_) = 0;
};

class BiasedCounter {
 public:
  void add() {
    const LockGuard lock(mutex_);
    value_++;
  }
  // expected-error@+1 {{writing variable 'value_' requires holding}}
  void add_unlocked() { value_++; }

 private:
  BiasedMutex mutex_;
  int value_ PMIO_GUARDED_BY(mutex_) = 0;
};

}  // namespace pmio
