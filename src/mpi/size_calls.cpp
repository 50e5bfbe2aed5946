// Size, space and sync.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/next_functions.h"

namespace pmio {
namespace {

// Collective: on return the file holds all that the handle's ranks have written, and no rank is inside a
// later call.
int drain_together(Handle& handle) {
  handle.team.barrier();
  const Status drained = handle.file->drain();
  const int worst = handle.team.worst(error_class(drained));
  if (!drained.ok()) return raise_error(handle, drained);
  return raise_code(handle, worst);
}

// Collective: room for the file's first bytes, by the file system, which changes none of them. Libraries do
// it by reading and rewriting what is there, over what another handle drains meanwhile. nullopt: it cannot.
std::optional<Status> reserve(const Handle& handle, MPI_Offset size) {
  int error = 0;
  while (handle.rank == 0 && size > 0 &&
         fallocate(handle.file->target().fd(), 0, 0, static_cast<off_t>(size)) != 0) {
    error = errno;
    if (error != EINTR) break;
  }
  error = static_cast<int>(handle.team.from(0, error));
  if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL) return std::nullopt;
  return error == 0 || error == EINTR
             ? Status()
             : Status::from_errno(error, "cannot make room in '" + handle.path + "'");
}

}  // namespace

Answer file_set_size(Handle& handle, MPI_Offset size) {
  if (!handle.logs) {
    (void)settle(handle, true, true);
    const int code = next_functions.File_set_size.next()(handle.real, size);
    // What ranks have logged meanwhile may have been drained and cut off.
    if (const std::shared_ptr<File> file = logged_file(handle)) {
      file->truncated();
      file->forget_cache();
    }
    return told_by_library(handle, code);
  }
  if (size < 0 || !handle.can_write()) return std::nullopt;
  if (const int code = drain_together(handle); code != MPI_SUCCESS) return code;
  const int code = next_functions.File_set_size.next()(handle.real, size);
  handle.file->truncated_here();
  handle.file->invalidate_cache();
  if (code == MPI_SUCCESS) handle.file->set_known_size(static_cast<uint64_t>(size));
  // The library does it on one node; another node's client of the file system may go on with the old size.
  if (code == MPI_SUCCESS && handle.file->spans_nodes())
    (void)!ftruncate(handle.file->target().fd(), static_cast<off_t>(size));
  // Across nodes a rank that went ahead could write bytes that another rank cuts off again.
  handle.team.barrier();
  return code;
}

Answer file_preallocate(Handle& handle, MPI_Offset size) {
  if (!handle.logs) return settle(handle, true, true);
  if (size < 0 || !handle.can_write()) return std::nullopt;
  if (const int code = drain_together(handle); code != MPI_SUCCESS) return code;
  const Result<uint64_t> before = handle.file->size_bytes();
  const std::optional<Status> reserved = reserve(handle, size);
  const int code =
      reserved ? raise_error(handle, *reserved) : next_functions.File_preallocate.next()(handle.real, size);
  handle.file->invalidate_cache();
  if (code == MPI_SUCCESS && before.ok())
    handle.file->set_known_size(std::max(before.value(), static_cast<uint64_t>(size)));
  handle.team.barrier();
  return code;
}

Answer file_get_size(Handle& handle, MPI_Offset* size) {
  if (!handle.logs) return settle(handle, false, false);
  if (size == nullptr) return std::nullopt;
  const Result<uint64_t> bytes = handle.file->size_bytes();
  if (!bytes.ok()) return raise_error(handle, bytes.status());
  *size = static_cast<MPI_Offset>(bytes.value());
  return MPI_SUCCESS;
}

Answer file_sync(Handle& handle) {
  if (!handle.logs) return settle(handle, true, true);
  // No barrier: some programs call it from one rank. A read-only handle gets the library's error.
  if (!handle.can_write()) return std::nullopt;
  Status status = handle.file->sync();
  if (status.ok()) status = handle.file->take_error();
  if (!status.ok()) return raise_error(handle, status);
  return std::nullopt;
}

}  // namespace pmio
