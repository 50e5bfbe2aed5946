#include "medium/pmem2.h"

#include <dlfcn.h>

#include <iterator>
#include <string>

namespace pmio {
namespace {

Status lack(const std::string& what) {
  return {Code::unsupported,
          "the log directory is on persistent memory (DAX), which needs libpmem2: " + what +
              "; install it (libpmem2-1 on Debian and Ubuntu, libpmem2 on Fedora, RHEL and SUSE), or name a "
              "directory elsewhere in PMIO_DIR"};
}

}  // namespace

Result<Pmem2> load_pmem2(std::span<const char* const> files) {
  std::string first_error;
  for (const char* file : files) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      if (first_error.empty() && error != nullptr) first_error = error;
      continue;
    }
    Pmem2 found;
    const char* missing = nullptr;
#define PMIO_FIND(name)                                                                \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, "pmem2_" #name)); \
  if (found.name == nullptr) missing = "pmem2_" #name;
    PMIO_PMEM2_CALLS(PMIO_FIND)
#undef PMIO_FIND
    if (missing == nullptr) return found;
    dlclose(library);
    return lack(std::string(file) + " has no " + missing);
  }
  return lack(first_error);
}

Result<Pmem2> load_pmem2() {
  constexpr const char* kFiles[] = {"libpmem2.so.1", PMIO_PMEM2_DIRECTORY "/libpmem2.so.1"};
  return load_pmem2(kFiles);
}

}  // namespace pmio
