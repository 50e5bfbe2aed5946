// The close of a handle that logs, or has logged.
#pragma once

#include "mpi/handle.h"

namespace pmio {

// Collective. On return the file holds what the handle's ranks have written, or never will if the handle's
// close deletes it. The handle has no file any more. By pmio_close=background it may hold that later, and
// what they have written is as durable as the log. MPI's code, the same on all ranks.
int close_log(Handle& handle);

}  // namespace pmio
