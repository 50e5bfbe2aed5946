// What DeviceMemory asks a GPU's library. Private to src/base.
//
// An object is made if the program has loaded the library, and stays. Threads: any.
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
  // The copy is complete on return. device: the one of the two that is the device's. False: it could not
  // copy.
  virtual bool copy(void* to, const void* from, size_t bytes, const void* device) = 0;
};

// nullptr: the library is not loaded, or lacks a function.
std::unique_ptr<GpuLibrary> loaded_cuda();
std::unique_ptr<GpuLibrary> loaded_hip();
std::unique_ptr<GpuLibrary> loaded_level_zero();

// dlopen of a library that is loaded. nullptr: nothing of that name is; the file system is not searched.
void* open_if_loaded(const char* name);

// The library that the program has loaded under one of these names; nullptr: there is none. It is held from
// then on, because pointers that it has given out are used.
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
