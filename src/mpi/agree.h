// What ranks decide together that have no team (yet).
#pragma once

#include "mpi/library.h"

namespace pmio {

// Collective: whether it holds on all ranks of the communicator, the same answer on each.
inline bool on_all_ranks(bool here, MPI_Comm comm) {
  const int mine = here ? 1 : 0;
  int all = 0;
  return mpi().Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all != 0;
}

}  // namespace pmio
