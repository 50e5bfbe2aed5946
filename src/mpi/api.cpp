#include "mpi/calls.h"
#include "mpi/errors.h"
#include "pmio/pmio.h"

extern "C" {

PMIO_EXPORT const char* pmio_version(void) { return PMIO_VERSION; }

PMIO_EXPORT int pmio_drain(MPI_File fh) {
  const pmio::Inside inside;
  pmio::Handle* handle = pmio::find_handle(fh);
  if (handle == nullptr || !handle->logs) return MPI_SUCCESS;
  return pmio::raise_error(*handle, handle->file->drain());
}

}  // extern "C"
