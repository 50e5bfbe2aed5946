// Level Zero, by its ABI, version 1. It is asked in a context of our own, which the drivers answer for the
// memory of all others. Nothing is initialized here: before the program has done it there is no such memory.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "base/gpu_library.h"
#include "base/mutex.h"

namespace pmio {
namespace {

using Result = int;  // 0: success

struct ContextDescription {
  int type = 0xd;
  const void* next = nullptr;
  uint32_t flags = 0;
};
struct QueueDescription {
  int type = 0xe;
  const void* next = nullptr;
  uint32_t ordinal = 0, index = 0, flags = 0;
  int mode = 1;  // synchronous: a copy is complete when it returns
  int priority = 0;
};
struct Properties {
  int type = 0x17;
  void* next = nullptr;
  int memory = 0;
  uint64_t id = 0, page_bytes = 0;
};
constexpr int kDeviceMemory = 2;  // ZE_MEMORY_TYPE_DEVICE
constexpr uint32_t kMostDrivers = 8;

class LevelZero : public GpuLibrary {
 public:
  bool find(void* library) {
    return find_function(library, "zeDriverGet", &get_drivers_) &&
           find_function(library, "zeContextCreate", &create_context_) &&
           find_function(library, "zeMemGetAllocProperties", &get_properties_) &&
           find_function(library, "zeCommandListCreateImmediate", &create_list_) &&
           find_function(library, "zeCommandListAppendMemoryCopy", &append_copy_);
  }

  bool owns(const void* address) override { return place_of(address).first != nullptr; }

  bool copy(void* to, const void* from, size_t bytes, const void* device) override {
    const Place place = place_of(device);
    const LockGuard lock(mutex_);  // no two threads in one list
    void*& list = lists_[place];
    const QueueDescription description;
    if (list == nullptr && create_list_(place.first, place.second, &description, &list) != 0) list = nullptr;
    return list != nullptr && append_copy_(list, to, from, bytes, nullptr, 0, nullptr) == 0;
  }

 private:
  using Place = std::pair<void*, void*>;  // context, device

  Place place_of(const void* address) {
    make_contexts();
    for (uint32_t i = 0; i < kMostDrivers; ++i) {
      void* const context = contexts_[i];
      Properties found;
      void* device = nullptr;
      if (context != nullptr && get_properties_(context, address, &found, &device) == 0 &&
          found.memory == kDeviceMemory)
        return {context, device};
    }
    return {};
  }

  void make_contexts() {
    const LockGuard lock(mutex_);
    if (made_) return;
    std::array<void*, kMostDrivers> drivers{};
    uint32_t count = 0;
    if (get_drivers_(&count, nullptr) != 0 || count == 0) return;
    count = std::min(count, kMostDrivers);
    if (get_drivers_(&count, drivers.data()) != 0) return;
    const ContextDescription description;
    for (uint32_t i = 0; i < count; ++i) {
      if (create_context_(drivers[i], &description, &contexts_[i]) != 0) contexts_[i] = nullptr;
    }
    made_ = true;
  }

  Mutex mutex_;
  bool made_ PMIO_GUARDED_BY(mutex_) = false;
  std::array<void*, kMostDrivers> contexts_{};  // constant once made
  std::map<Place, void*> lists_ PMIO_GUARDED_BY(mutex_);
  Result (*get_drivers_)(uint32_t*, void**) = nullptr;
  Result (*create_context_)(void*, const ContextDescription*, void**) = nullptr;
  Result (*get_properties_)(void*, const void*, Properties*, void**) = nullptr;
  Result (*create_list_)(void*, void*, const QueueDescription*, void**) = nullptr;
  Result (*append_copy_)(void*, void*, const void*, size_t, void*, uint32_t, void**) = nullptr;
};

}  // namespace

std::unique_ptr<GpuLibrary> loaded_level_zero() {
  void* library = loaded_library({"libze_loader.so.1"});
  auto level_zero = std::make_unique<LevelZero>();
  return library != nullptr && level_zero->find(library) ? std::move(level_zero) : nullptr;
}

}  // namespace pmio
