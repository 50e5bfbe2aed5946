// CUDA's driver, by its ABI: libcuda.so.1, whatever runtime the program uses on top.
#include <cstdint>

#include "base/gpu_library.h"

namespace pmio {
namespace {

using Result = int;  // 0: success
using Address = unsigned long long;

constexpr int kContext = 1, kMemoryType = 2, kIsManaged = 8;  // CU_POINTER_ATTRIBUTE_*
constexpr uint64_t kDevice = 2;                               // CU_MEMORYTYPE_DEVICE

class Cuda : public GpuLibrary {
 public:
  bool find(void* library) {
    return find_function(library, "cuPointerGetAttribute", &get_attribute_) &&
           find_function(library, "cuMemcpy", &memcpy_) &&
           find_function(library, "cuStreamSynchronize", &synchronize_) &&
           find_function(library, "cuCtxPushCurrent_v2", &push_) &&
           find_function(library, "cuCtxPopCurrent_v2", &pop_);
  }

  bool owns(const void* address) override {
    // Managed memory is the device's and the CPU's.
    return attribute(kMemoryType, address) == kDevice && attribute(kIsManaged, address) == 0;
  }

  // A thread that has never used CUDA has no context.
  bool copy(void* to, const void* from, size_t bytes, const void* device) override {
    void* const context = reinterpret_cast<void*>(attribute(kContext, device));
    if (context != nullptr && push_(context) != 0) return false;
    // A copy to the device may only be on its way when it returns.
    const bool copied = memcpy_(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes) == 0 &&
                        synchronize_(nullptr) == 0;
    void* popped = nullptr;
    if (context != nullptr) pop_(&popped);
    return copied;
  }

 private:
  // 0: none, or memory that CUDA does not know. The attributes have 4 or 8 bytes.
  uint64_t attribute(int which, const void* address) const {
    uint64_t value = 0;
    return get_attribute_(&value, which, reinterpret_cast<Address>(address)) == 0 ? value : 0;
  }

  Result (*get_attribute_)(void*, int, Address) = nullptr;
  Result (*memcpy_)(Address, Address, size_t) = nullptr;
  Result (*synchronize_)(void*) = nullptr;
  Result (*push_)(void*) = nullptr;
  Result (*pop_)(void**) = nullptr;
};

}  // namespace

std::unique_ptr<GpuLibrary> loaded_cuda() {
  void* library = loaded_library({"libcuda.so.1"});
  auto cuda = std::make_unique<Cuda>();
  return library != nullptr && cuda->find(library) ? std::move(cuda) : nullptr;
}

}  // namespace pmio
