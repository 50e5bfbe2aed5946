// Shared file pointers whose handles span nodes, kept by the coordinator. As src/mpi/shared_pointer.h has
// them: a value per handle and epoch, the last few epochs of each. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

namespace pmio {

class SharedPointers {
 public:
  int64_t fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by);
  void store(uint64_t handle, uint64_t epoch, int64_t value);

 private:
  struct Slot {
    uint64_t epoch_plus_1 = 0;
    int64_t value = 0;
  };
  Slot& slot(uint64_t handle, uint64_t epoch, int64_t initial);
  std::mutex mutex_;
  std::map<uint64_t, std::array<Slot, 4>> handles_;
};

}  // namespace pmio
