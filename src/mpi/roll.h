// The roll call (preload/roll_call.h) with the library's names as its board. Threads: the one of MPI_Init.
#pragma once

#include "preload/roll_call.h"

namespace pmio {

// Once, after the library's MPI_Init. bound: bind_mpi_library() has found it.
pmio_roll call_roll(bool bound);

}  // namespace pmio
