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

}  // extern "C"
