// What DeviceMemory asks of a GPU's library. Private to src/base.
//
// Each is made where the program has loaded the library, and stays. Threads: any.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <memory>

namespace pmio {

class GpuLibrary {
 public:
  GpuLibrary() = default;
  virtual ~GpuLibrary() = default;
  GpuLibrary(const GpuLibrary&) = delete;
  GpuLibrary& operator=(const GpuLibrary&) = delete;

  // Whether it has given this address out, as memory that only its devices can touch.
  virtual bool owns(const void* address) = 0;
  // Complete on return. device: which of the two the device's is. False: it could not.
  virtual bool copy(void* to, const void* from, size_t bytes, const void* device) = 0;
};

// nullptr: not loaded, or it lacks a function.
std::unique_ptr<GpuLibrary> loaded_cuda();
std::unique_ptr<GpuLibrary> loaded_hip();
std::unique_ptr<GpuLibrary> loaded_level_zero();

// dlopen of what is loaded, and nullptr without a search in the file system where nothing of that name is.
void* open_if_loaded(const char* name);

// The functions of a library that the program has loaded under one of these names; nullptr where it has none.
// Held from then on: what it has given out is used.
template <size_t Names>
void* loaded_library(const char* const (&names)[Names]) {
  for (const char* name : names) {
    if (void* library = open_if_loaded(name)) return library;
  }
  return nullptr;
}

template <class Function>
bool find_function(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace pmio
