#include "mpi/calls.h"
#include "mpi/errors.h"
#include "pmio/pmio.h"

extern "C" {

PMIO_EXPORT const char* pmio_version(void) { return PMIO_VERSION; }

PMIO_EXPORT int pmio_drain(MPI_File fh) {
  const pmio::Inside inside;
  pmio::Handle* handle = pmio::find_handle(fh);
  if (handle == nullptr) return MPI_SUCCESS;
  return pmio::raise_error(*handle, handle->engine().drain(*handle));
}

PMIO_EXPORT int pmio_persist(MPI_File fh) {
  const pmio::Inside inside;
  pmio::Handle* handle = pmio::find_handle(fh);
  if (handle == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (!handle->can_write()) return MPI_SUCCESS;
  return pmio::raise_error(*handle, handle->engine().persist(*handle));
}

PMIO_EXPORT int pmio_collective_times(MPI_File fh, uint64_t ns[5]) {
  const pmio::Inside inside;
  pmio::Handle* handle = pmio::find_handle(fh);
  if (handle == nullptr || !handle->buffered || handle->in_library()) return MPI_ERR_UNSUPPORTED_OPERATION;
  const pmio::TwoPhaseCounters& spent = handle->buffered->engine().counters();
  ns[0] = spent.arrival_ns;
  ns[1] = spent.copy_ns;
  ns[2] = spent.exchange_ns - spent.copy_ns;
  ns[3] = spent.wait_ns;
  ns[4] = spent.file_ns;
  return MPI_SUCCESS;
}

}  // extern "C"
