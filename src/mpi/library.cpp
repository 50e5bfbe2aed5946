#include "mpi/library.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hints/family.h"
#include "view/mpi_calls.h"

// The linker defines these: the beginning and the end of this library.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start, _end;

namespace pmio {
namespace {

// For programs that load their MPI with RTLD_LOCAL. Only a library of this family: another family's functions
// would misread our handles.
#ifdef OPEN_MPI
constexpr const char* kLibraries[] = {"libmpi.so.40", "libmpi.so.80", "libmpi.so"};
#elif defined(MPI_ABI_VERSION)
constexpr const char* kLibraries[] = {"libmpi_abi.so.1", "libmpi_abi.so"};
#else
constexpr const char* kLibraries[] = {"libmpi.so.12", "libmpich.so.12", "libmpi.so"};
#endif

// Of the preloaded library, if it has loaded this one, with RTLD_LOCAL. nullptr: this one was preloaded or
// linked itself.
void* (*find_behind_preloaded)(const char*) = nullptr;

void* find_behind(const char* name) {
  return find_behind_preloaded != nullptr ? find_behind_preloaded(name) : dlsym(RTLD_NEXT, name);
}

// Not by dladdr, which looks through all symbols of the MPI library: a hundred are asked for at the start.
bool is_ours(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return at >= reinterpret_cast<uintptr_t>(&__ehdr_start) && at < reinterpret_cast<uintptr_t>(&_end);
}

bool is_function(const char* name) {
  return std::strncmp(name, "MPI_", 4) == 0 || std::strncmp(name, "PMPI_", 5) == 0;
}

}  // namespace

void* find_mpi_symbol(const char* name) {
  // A variable is what the loader's order finds first, perhaps a copy in the program itself. A function is
  // the one behind ours.
  void* address = is_function(name) ? find_behind(name) : dlsym(RTLD_DEFAULT, name);
  if (address != nullptr && !is_ours(address)) return address;
  for (const char* library : kLibraries) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    address = dlsym(handle, name);
    dlclose(handle);  // the program's own reference keeps it
    if (address != nullptr && !is_ours(address)) return address;
  }
  return nullptr;
}

void* require_mpi_symbol(const char* name) {
  void* address = find_mpi_symbol(name);
  if (address == nullptr) {
    std::fprintf(stderr,
                 "pmio: no %s in this program's MPI library: is libpmio the one for it? See `pmio doctor`\n",
                 name);
    std::abort();
  }
  return address;
}

// Another family's functions have the same names, but misread our handles.
static bool is_of_our_family(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return true;
  const char* family = family_of_library(info.dli_fname);
  return family == nullptr || std::strcmp(family, PMIO_MPI_FAMILY) == 0;
}

bool bind_mpi_library() {
  bool complete = bind_mpi_calls(&find_mpi_symbol);
#define PMIO_BIND(name)                                                                                \
  mpi_functions.name = reinterpret_cast<decltype(mpi_functions.name)>(find_mpi_symbol("PMPI_" #name)); \
  complete = complete && mpi_functions.name != nullptr;
  PMIO_MPI_CALLS(PMIO_BIND)
#undef PMIO_BIND
  return complete && is_of_our_family(reinterpret_cast<void*>(mpi_functions.Comm_rank));
}

}  // namespace pmio

// src/preload/takeover.c calls it as soon as it has loaded this library, before any other function.
extern "C" __attribute__((visibility("default"))) void pmio_loaded(void* (*find)(const char*)) {
  pmio::find_behind_preloaded = find;
}
