#include "base/robust_lock.h"

#include <cerrno>

#include "base/status.h"

namespace pmio {

void init_shared_mutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  PMIO_ASSERT(pthread_mutexattr_init(&attributes) == 0);
  PMIO_ASSERT(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  PMIO_ASSERT(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  PMIO_ASSERT(pthread_mutex_init(mutex, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

RobustLock::RobustLock(pthread_mutex_t& mutex) : mutex_(mutex) { take(pthread_mutex_lock(&mutex_)); }

RobustLock::RobustLock(pthread_mutex_t& mutex, std::try_to_lock_t /*tag*/) : mutex_(mutex) {
  take(pthread_mutex_trylock(&mutex_));
}

RobustLock::~RobustLock() {
  if (held_) unlock();
}

void RobustLock::unlock() {
  PMIO_ASSERT(pthread_mutex_unlock(&mutex_) == 0);
  held_ = false;
}

void RobustLock::take(int result) {
  if (result == EBUSY) return;
  if (result == EOWNERDEAD) result = pthread_mutex_consistent(&mutex_);
  PMIO_ASSERT(result == 0);
  held_ = true;
}

}  // namespace pmio
