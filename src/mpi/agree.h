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

// A communicator for a handle's own use, with the ranks of comm. Collective. Handles of one rank share one:
// the MPI library has room for some thousand only.
bool own_comm(MPI_Comm comm, MPI_Comm* own);
// What own_comm gave, or MPI_COMM_NULL; becomes MPI_COMM_NULL.
void free_comm(MPI_Comm* own);

}  // namespace pmio
