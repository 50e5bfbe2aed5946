// What ranks decide together.
#pragma once

#include "mpi/library.h"

namespace pmio {

// Collective: whether it holds on all ranks of the communicator, the same answer on each.
inline bool on_all_ranks(bool here, MPI_Comm comm) {
  const int mine = here ? 1 : 0;
  int all = 0;
  mpi().Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
  return all != 0;
}

}  // namespace pmio
