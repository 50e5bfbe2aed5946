#include "mpi/calls.h"
#include "mpi/errors.h"
#include "pmio/pmio.h"

// Any descriptor of the file will do: what has been written by write(2) belongs to the file, not to a
// descriptor.
static pmio::Status sync_file_of(pmio::Handle& handle) {
  if (handle.file) return handle.file->sync_target();
  auto target = pmio::TargetFile::open(handle.path, pmio::TargetFile::Access::write_only);
  return target.ok() ? (*target)->sync() : target.status();
}

extern "C" {

PMIO_EXPORT const char* pmio_version(void) { return PMIO_VERSION; }

PMIO_EXPORT int pmio_drain(MPI_File fh) {
  const pmio::Inside inside;
  pmio::Handle* handle = pmio::find_handle(fh);
  if (handle == nullptr || !handle->logs) return MPI_SUCCESS;
  return pmio::raise_error(*handle, handle->file->drain());
}

PMIO_EXPORT int pmio_persist(MPI_File fh) {
  const pmio::Inside inside;
  pmio::Handle* handle = pmio::find_handle(fh);
  if (handle == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (!handle->can_write()) return MPI_SUCCESS;
  return pmio::raise_error(*handle, handle->logs ? handle->file->persist() : sync_file_of(*handle));
}

}  // extern "C"
