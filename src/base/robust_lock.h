// A mutex in memory that processes share, which outlives the death of its holder. Clang checks its contracts
// (base/thread_annotations.h).
#pragma once

#include <pthread.h>

#include <mutex>

#include "base/thread_annotations.h"

namespace pmio {

// In zeroed memory; init makes it.
struct PMIO_CAPABILITY("mutex") RobustMutex {
  void init();  // robust and process-shared
  // This thread holds it by a RobustLock of some caller: checked when it runs, and known to the analysis from
  // here on.
  void assert_held() const PMIO_ASSERT_CAPABILITY(this);

  pthread_mutex_t native;
};

// Holds a robust mutex. If its last holder died, the protected state is as that holder left it. Every step
// under these mutexes publishes its result with its last store. So the state is consistent, and the lock is
// simply taken over.
class PMIO_SCOPED_CAPABILITY RobustLock {
 public:
  explicit RobustLock(RobustMutex& mutex) PMIO_ACQUIRE(mutex);
  // If held() is false, nothing is held, which the analysis does not know.
  RobustLock(RobustMutex& mutex, std::try_to_lock_t tag) PMIO_ACQUIRE(mutex);
  ~RobustLock() PMIO_RELEASE();
  RobustLock(const RobustLock&) = delete;
  RobustLock& operator=(const RobustLock&) = delete;
  bool held() const { return held_; }
  void unlock() PMIO_RELEASE();

 private:
  void take(int result);
  RobustMutex& mutex_;
  bool held_ = false;
};

}  // namespace pmio
