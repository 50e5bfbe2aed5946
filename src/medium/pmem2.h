// The functions of libpmem2, which is loaded when the first region on DAX is mapped. With the libraries that
// it needs it takes longer to load than all the rest of pmio, and few nodes have persistent memory. Internal
// to src/medium. Threads: any.
#pragma once

#include <libpmem2.h>

#include <span>

#include "base/status.h"

namespace pmio {

#define PMIO_PMEM2_CALLS(X)                \
  X(errormsg)                              \
  X(source_from_fd)                        \
  X(source_delete)                         \
  X(config_new)                            \
  X(config_delete)                         \
  X(config_set_required_store_granularity) \
  X(config_set_protection)                 \
  X(map_new)                               \
  X(map_delete)                            \
  X(map_get_address)                       \
  X(map_get_size)                          \
  X(get_memcpy_fn)                         \
  X(get_flush_fn)                          \
  X(get_drain_fn)

struct Pmem2 {
#define PMIO_POINTER(name) decltype(&pmem2_##name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  PMIO_PMEM2_CALLS(PMIO_POINTER)
#undef PMIO_POINTER
};

// Loads the library that the loader finds, else the one at its place when pmio was built. unsupported: the
// error says what to install.
Result<Pmem2> load_pmem2();
// Loads the first of these files that there is; it stays loaded.
Result<Pmem2> load_pmem2(std::span<const char* const> files);

}  // namespace pmio
