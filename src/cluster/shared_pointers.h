// Shared file pointers whose handles span nodes; the coordinator keeps them. Like src/node/shared_pointer.h
// it has a value per handle and epoch, for the last few epochs of each handle. Threads: any.
#pragma once

#include <cstdint>
#include <map>

#include "base/epoch_slots.h"
#include "base/mutex.h"

namespace pmio {

class SharedPointers {
 public:
  int64_t fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by);
  void store(uint64_t handle, uint64_t epoch, int64_t value);

 private:
  Mutex mutex_;
  std::map<uint64_t, EpochSlots> handles_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
