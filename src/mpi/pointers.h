// The shared file pointer of a handle, in etypes of its view.
#pragma once

#include "mpi/handle.h"

namespace pmio {

// Adds `by` and returns the value before. Local.
Result<int64_t> shared_fetch_add(Handle& handle, int64_t by);

// Collective: gives each rank, in rank order, room for its `mine` etypes. Returns where they start; io on all
// ranks if it failed.
Result<int64_t> ordered_fetch_add(Handle& handle, int64_t mine);

}  // namespace pmio
