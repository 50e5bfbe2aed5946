#include "cluster/shared_pointers.h"

namespace pmio {

int64_t SharedPointers::fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by) {
  const LockGuard lock(mutex_);
  return handles_[handle].fetch_add(epoch, initial, by);
}

void SharedPointers::store(uint64_t handle, uint64_t epoch, int64_t value) {
  const LockGuard lock(mutex_);
  handles_[handle].store(epoch, value);
}

}  // namespace pmio
