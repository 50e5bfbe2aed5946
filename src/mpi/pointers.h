// The shared file pointer of a handle, in etypes of its view.
#pragma once

#include "mpi/handle.h"

namespace pmio {

// Adds `by` and returns the value before. Local.
Result<int64_t> shared_fetch_add(Handle& handle, int64_t by);

// Collective: gives each rank, in rank order, its `mine` etypes; returns where they start. io on all ranks
// where it failed.
Result<int64_t> ordered_fetch_add(Handle& handle, int64_t mine);

}  // namespace pmio
