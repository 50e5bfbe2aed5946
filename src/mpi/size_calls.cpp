// Size, space and sync.
#include <unistd.h>

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/next_functions.h"

namespace pmio {
namespace {

// The success may be an error handler's. On one node the file itself tells; another node's client of the file
// system may still show the old size.
void know_size(File& file, uint64_t wanted) {
  const Result<uint64_t> size = file.target().size_bytes();
  file.set_known_size(size.ok() && !file.spans_nodes() ? size.value() : wanted);
}

}  // namespace

Answer file_set_size(Handle& handle, MPI_Offset size) {
  if (!handle.logs) {
    (void)drain_before_library_call(handle, true, true);
    const int code = next_functions.File_set_size.next()(handle.real, size);
    // What ranks have logged meanwhile may have been drained and cut off.
    if (const std::shared_ptr<File> file = logged_file(handle)) {
      file->truncated();
      file->forget_cache();
    }
    return after_library_call(handle, code);
  }
  if (size < 0 || !handle.can_write()) return std::nullopt;
  if (const int code = drain_together(handle); code != MPI_SUCCESS) return code;
  const int code = next_functions.File_set_size.next()(handle.real, size);
  handle.file->truncated_here();
  handle.file->invalidate_cache();
  if (code == MPI_SUCCESS) know_size(*handle.file, static_cast<uint64_t>(size));
  // The library does it on one node; another node's client of the file system may go on with the old size.
  if (code == MPI_SUCCESS && handle.file->spans_nodes())
    (void)!ftruncate(handle.file->target().fd(), static_cast<off_t>(size));
  // Across nodes a rank that went ahead could write bytes that another rank cuts off again.
  handle.team.barrier();
  return code;
}

Answer file_get_size(Handle& handle, MPI_Offset* size) {
  if (!handle.logs) return drain_before_library_call(handle, false, false);
  if (size == nullptr) return std::nullopt;
  const Result<uint64_t> bytes = handle.file->size_bytes();
  if (!bytes.ok()) return raise_error(handle, bytes.status());
  *size = static_cast<MPI_Offset>(bytes.value());
  return MPI_SUCCESS;
}

Answer file_sync(Handle& handle) {
  if (!handle.logs) return drain_before_library_call(handle, true, true);
  // No barrier: some programs call it from one rank. A read-only handle gets the library's error.
  if (!handle.can_write()) return std::nullopt;
  Status status = handle.file->sync();
  if (status.ok()) status = handle.file->take_error();
  if (!status.ok()) return raise_error(handle, status);
  return std::nullopt;
}

}  // namespace pmio
