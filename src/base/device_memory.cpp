#include "base/device_memory.h"

#include <link.h>

#include <array>
#include <atomic>

#include "base/gpu_library.h"
#include "base/mutex.h"

namespace pmio {
namespace {

// Device memory comes in pages no smaller than these.
constexpr uintptr_t kRegionBits = 16;
constexpr size_t kRegionsKnown = 8;  // few: a library that is loaded late has little room for such variables

// If a pointer is null, the library is not loaded.
struct Library {
  std::unique_ptr<GpuLibrary> (*make)();
  std::unique_ptr<GpuLibrary> kept = nullptr;
  std::atomic<GpuLibrary*> loaded{nullptr};
};
std::array<Library, 3>& libraries() {
  static auto& all =
      *new std::array<Library, 3>{Library{&loaded_cuda}, Library{&loaded_hip}, Library{&loaded_level_zero}};
  return all;
}
std::atomic<bool> any_loaded{false};

int note_loads(dl_phdr_info* info, size_t /*size*/, void* loads) {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;  // each object has the same count: the first is enough
}

// Looks for all libraries that are not there yet, if the loader has loaded anything since the last time.
void look_again() {
  static std::atomic<unsigned long long> seen{0};
  unsigned long long loads = 0;
  dl_iterate_phdr(&note_loads, &loads);
  if (loads == seen.load(std::memory_order_acquire)) return;
  static Mutex& mutex = *new Mutex;
  const LockGuard lock(mutex);
  for (Library& library : libraries()) {
    if (library.kept == nullptr) library.kept = library.make();
    library.loaded.store(library.kept.get(), std::memory_order_release);
    if (library.kept != nullptr) any_loaded.store(true, std::memory_order_release);
  }
  // The count from before the look: the next call looks for what came meanwhile.
  seen.store(loads, std::memory_order_release);
}

// Device memory is not given out at addresses where this thread has had other memory a moment ago. A library
// that is loaded meanwhile gives out new addresses.
bool is_new_to_thread(const void* at) {
  thread_local std::array<uintptr_t, kRegionsKnown> known __attribute__((tls_model("initial-exec"))){};
  const uintptr_t region = (reinterpret_cast<uintptr_t>(at) >> kRegionBits) + 1;
  uintptr_t& slot = known[region % kRegionsKnown];
  if (slot == region) return false;
  slot = region;
  return true;
}

}  // namespace

void DeviceMemory::look_for_libraries() { look_again(); }

GpuLibrary* DeviceMemory::find(const void* at) {
  if (is_new_to_thread(at)) look_again();
  if (!any_loaded.load(std::memory_order_acquire)) return nullptr;
  for (Library& library : libraries()) {
    GpuLibrary* loaded = library.loaded.load(std::memory_order_acquire);
    if (loaded != nullptr && loaded->owns(at)) return loaded;
  }
  return nullptr;
}

Status DeviceMemory::copy_to_host(void* host, const void* device, size_t bytes) const {
  if (library_->copy(host, device, bytes, device)) return {};
  return {Code::io, "a buffer in a GPU's memory cannot be read"};
}

Status DeviceMemory::copy_to_device(void* device, const void* host, size_t bytes) const {
  if (library_->copy(device, host, bytes, device)) return {};
  return {Code::io, "a buffer in a GPU's memory cannot be written"};
}

}  // namespace pmio
