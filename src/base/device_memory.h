// Memory of a GPU, which the CPU cannot touch: told from the program's other memory, and copied.
//
// By the libraries that the program has loaded, CUDA's driver, HIP or Level Zero, whenever it does: none is
// linked or loaded here. Memory that is managed, shared or pinned on the host is the CPU's too, and is not
// meant. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace pmio {

class GpuLibrary;

// One buffer. Of a program without such a library it costs a load and a comparison, but for the first use of
// each 64 KiB of its memory by a thread, when the loader is asked whether it has loaded something since.
class DeviceMemory {
 public:
  // at: a byte of the buffer.
  explicit DeviceMemory(const void* at) : library_(find(at)) {}
  // Finds what was loaded since, which a thread may otherwise not notice where it has used host memory at the
  // same addresses before. About 40 ns.
  static void look_for_libraries();

  bool is_device() const { return library_ != nullptr; }
  // Of device memory only; both ends of the copy are complete on return. io: the library could not.
  Status copy_to_host(void* host, const void* device, size_t bytes) const;
  Status copy_to_device(void* device, const void* host, size_t bytes) const;

 private:
  static GpuLibrary* find(const void* at);
  GpuLibrary* library_;
};

}  // namespace pmio
