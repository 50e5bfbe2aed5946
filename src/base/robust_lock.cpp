#include "base/robust_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/status.h"

namespace pmio {
namespace {

// What this thread holds; no order of locks is deeper.
struct Holdings {
  std::array<const RobustMutex*, 8> mutexes;
  size_t count;

  void add(const RobustMutex* mutex) {
    PMIO_ASSERT(count < mutexes.size());
    mutexes[count++] = mutex;
  }
  void remove(const RobustMutex* mutex) {
    const auto end = mutexes.begin() + static_cast<ptrdiff_t>(count);
    const auto found = std::find(mutexes.begin(), end, mutex);
    PMIO_ASSERT(found != end);
    *found = mutexes[--count];
  }
  bool has(const RobustMutex* mutex) const {
    const auto end = mutexes.begin() + static_cast<ptrdiff_t>(count);
    return std::find(mutexes.begin(), end, mutex) != end;
  }
};
thread_local Holdings held_here __attribute__((tls_model("initial-exec")));

}  // namespace

void RobustMutex::init() {
  pthread_mutexattr_t attributes;
  PMIO_ASSERT(pthread_mutexattr_init(&attributes) == 0);
  PMIO_ASSERT(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  PMIO_ASSERT(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  PMIO_ASSERT(pthread_mutex_init(&native, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

void RobustMutex::assert_held() const { PMIO_ASSERT(held_here.has(this)); }

RobustLock::RobustLock(RobustMutex& mutex) : mutex_(mutex) { take(pthread_mutex_lock(&mutex_.native)); }

RobustLock::RobustLock(RobustMutex& mutex, std::try_to_lock_t /*tag*/) : mutex_(mutex) {
  take(pthread_mutex_trylock(&mutex_.native));
}

RobustLock::~RobustLock() {
  if (held_) unlock();
}

void RobustLock::unlock() {
  held_here.remove(&mutex_);
  PMIO_ASSERT(pthread_mutex_unlock(&mutex_.native) == 0);
  held_ = false;
}

void RobustLock::take(int result) {
  if (result == EBUSY) return;
  if (result == EOWNERDEAD) result = pthread_mutex_consistent(&mutex_.native);
  PMIO_ASSERT(result == 0);
  held_here.add(&mutex_);
  held_ = true;
}

}  // namespace pmio
