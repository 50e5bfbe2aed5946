// What has been seen of the files of one kind (mpi/undecided.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace pmio {

struct Handle;

// Of files of several ranks: the same on each. Threads: as undecided.
struct SeenFiles {
  explicit SeenFiles(uint32_t row) : small(row) {}
  std::atomic<uint32_t> small;  // one behind the other
  std::atomic<uint32_t> opened{0};
  std::vector<const Handle*> logged;  // that are open, in the order in which they began to log
};

}  // namespace pmio
