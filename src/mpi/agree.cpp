#include "mpi/agree.h"

#include <mutex>

namespace pmio {
namespace {

std::mutex& mutex = *new std::mutex;
// Under the mutex; what is made stays to the end of the program.
bool made = false;
MPI_Comm of_this_rank;  // not MPI_COMM_NULL, which Open MPI's library has to be asked for

}  // namespace

bool own_comm(MPI_Comm comm, MPI_Comm* own) {
  int ranks = 0;
  mpi().Comm_size(comm, &ranks);
  if (ranks > 1) return mpi().Comm_dup(comm, own) == MPI_SUCCESS;
  const std::lock_guard lock(mutex);
  made = made || mpi().Comm_dup(comm, &of_this_rank) == MPI_SUCCESS;
  if (!made) return false;
  *own = of_this_rank;
  return true;
}

void free_comm(MPI_Comm* own) {
  if (*own == MPI_COMM_NULL) return;
  const std::lock_guard lock(mutex);
  if (made && *own == of_this_rank)
    *own = MPI_COMM_NULL;
  else
    mpi().Comm_free(own);
}

}  // namespace pmio
