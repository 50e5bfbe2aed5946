// A mutex in memory that processes share, which outlives the death of its holder.
#pragma once

#include <pthread.h>

#include <mutex>

namespace pmio {

// Robust and process-shared, for RobustLock.
void init_shared_mutex(pthread_mutex_t* mutex);

// Holds a robust mutex. If its last holder died, the protected state is as that holder left it: every step
// under these mutexes publishes its result with its last store, so the state is consistent and the lock is
// simply taken over.
class RobustLock {
 public:
  explicit RobustLock(pthread_mutex_t& mutex);
  RobustLock(pthread_mutex_t& mutex, std::try_to_lock_t tag);
  ~RobustLock();
  RobustLock(const RobustLock&) = delete;
  RobustLock& operator=(const RobustLock&) = delete;
  bool held() const { return held_; }
  void unlock();

 private:
  void take(int result);
  pthread_mutex_t& mutex_;
  bool held_ = false;
};

}  // namespace pmio
