// HIP, by its ABI. The names of its memory types have changed between versions, the places of its attributes
// have not.
#include "base/gpu_library.h"

namespace pmio {
namespace {

using Result = int;  // 0: success

struct Attributes {  // hipPointerAttribute_t
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
  char room[96];
};

constexpr int kByAddresses = 4;  // hipMemcpyDefault

class Hip : public GpuLibrary {
 public:
  bool find(void* library) {
    return find_function(library, "hipPointerGetAttributes", &get_attributes_) &&
           find_function(library, "hipMemcpy", &memcpy_) &&
           find_function(library, "hipStreamSynchronize", &synchronize_) &&
           find_function(library, "hipPeekAtLastError", &peek_error_) &&
           find_function(library, "hipGetLastError", &take_error_);
  }

  // For memory that it does not know HIP makes an error, which the program might look for later.
  bool owns(const void* address) override {
    const bool had_error = peek_error_() != 0;
    Attributes found{};
    const bool known = get_attributes_(&found, address) == 0;
    if (!known && !had_error) take_error_();
    return known && found.device_pointer != nullptr && found.host_pointer == nullptr && found.is_managed == 0;
  }

  bool copy(void* to, const void* from, size_t bytes, const void* /*device*/) override {
    return memcpy_(to, from, bytes, kByAddresses) == 0 && synchronize_(nullptr) == 0;
  }

 private:
  Result (*get_attributes_)(Attributes*, const void*) = nullptr;
  Result (*memcpy_)(void*, const void*, size_t, int) = nullptr;
  Result (*synchronize_)(void*) = nullptr;
  Result (*peek_error_)() = nullptr;
  Result (*take_error_)() = nullptr;
};

}  // namespace

std::unique_ptr<GpuLibrary> loaded_hip() {
  void* library =
      loaded_library({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"});
  auto hip = std::make_unique<Hip>();
  return library != nullptr && hip->find(library) ? std::move(hip) : nullptr;
}

}  // namespace pmio
