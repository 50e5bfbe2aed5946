// Tells memory of a GPU, which the CPU cannot touch, from the program's other memory, and copies it.
//
// It uses the libraries that the program has loaded, at any time: CUDA's driver, HIP or Level Zero. None is
// linked or loaded here. Memory that is managed, shared or pinned on the host is the CPU's, too, and is not
// meant. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace pmio {

class GpuLibrary;

// One buffer. In a program without such a library it costs a load and a comparison. When a thread first uses
// some 64 KiB of memory, the loader is asked, too, whether it has loaded something since.
class DeviceMemory {
 public:
  // at: a byte of the buffer.
  explicit DeviceMemory(const void* at) : library_(find(at)) {}
  // Finds libraries that were loaded since. A thread may not notice them otherwise if it has used host memory
  // at the same addresses before. It takes about 40 ns.
  static void look_for_libraries();

  bool is_device() const { return library_ != nullptr; }
  // For device memory only. The copy is complete on return. io: the library could not copy.
  Status copy_to_host(void* host, const void* device, size_t bytes) const;
  Status copy_to_device(void* device, const void* host, size_t bytes) const;

 private:
  static GpuLibrary* find(const void* at);
  GpuLibrary* library_;
};

}  // namespace pmio
