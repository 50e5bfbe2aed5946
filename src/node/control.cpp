#include "node/control.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <string>

namespace pmio {

size_t control_bytes(uint32_t ranks) { return sizeof(FileControl) + ranks * sizeof(RankCell); }

void init_shared_mutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  PMIO_ASSERT(pthread_mutexattr_init(&attributes) == 0);
  PMIO_ASSERT(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  PMIO_ASSERT(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  PMIO_ASSERT(pthread_mutex_init(mutex, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

void init_control(FileControl* control, uint32_t ranks) {
  control->magic = kControlMagic;
  control->boot = this_boot();
  control->ranks = ranks;
  control->ledger_updates_inverted = ~uint64_t{0};
  init_shared_mutex(&control->drain_mutex);
  init_shared_mutex(&control->index_mutex);
  init_shared_mutex(&control->claim_mutex);
  for (uint64_t& cursor : control->round.cursor) cursor = UINT64_MAX;
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

std::string file_key(const FileIdentity& identity) {
  char key[40];
  std::snprintf(key, sizeof key, "%" PRIx64 "-%" PRIx64, identity.device, identity.inode);
  return key;
}

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace pmio
