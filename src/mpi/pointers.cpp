// File pointers: individual and shared.
#include "mpi/pointers.h"

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/process.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// Where MPI_File_seek goes to from `current`; MPI_ERR_ARG: nowhere that exists.
int seek_target(Handle& handle, MPI_Offset offset, int whence, int64_t current, int64_t* target) {
  if (whence == MPI_SEEK_SET) {
    *target = offset;
  } else if (whence == MPI_SEEK_CUR) {
    *target = current + offset;
  } else if (whence == MPI_SEEK_END) {
    const Result<uint64_t> size = handle.file->size_bytes();
    if (!size.ok()) return error_class(size.status());
    *target = handle.view.end_of_file(static_cast<int64_t>(size.value())) + offset;
  } else {
    return MPI_ERR_ARG;
  }
  return *target < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
}

// One that this rank has not used yet is not what the others have, where its name is gone.
Status require_shared(const Handle& handle) {
  if (handle.shared->used() || !Process::instance().joined()->has_lost_log()) return {};
  return Status(Code::io, "the shared file pointer of '" + handle.path +
                              "' cannot be used any more: the log directory was removed");
}

}  // namespace

Result<int64_t> shared_fetch_add(Handle& handle, int64_t by) {
  if (handle.file->spans_nodes()) {
    return Process::instance().cluster()->fetch_add(static_cast<uint64_t>(handle.number), handle.view_epoch,
                                                    handle.shared_start, by);
  }
  PMIO_TRY(require_shared(handle));
  return handle.shared->fetch_add(handle.view_epoch, handle.shared_start, by);
}

static Status store_shared(Handle& handle, int64_t value) {
  if (handle.file->spans_nodes())
    return Process::instance().cluster()->store(static_cast<uint64_t>(handle.number), handle.view_epoch,
                                                value);
  PMIO_TRY(require_shared(handle));
  return handle.shared->store(handle.view_epoch, value);
}

Result<int64_t> ordered_fetch_add(Handle& handle, int64_t mine) {
  int64_t start = -1;
  const int64_t before = handle.team.sum_below(mine);
  const int last = handle.ranks - 1;
  Status status;
  if (handle.rank == last) {
    const Result<int64_t> value = shared_fetch_add(handle, before + mine);
    if (value.ok()) start = value.value();
    status = value.status();
  }
  start = handle.team.from(last, start);
  if (!status.ok()) return status;
  if (start < 0) return Status(Code::io, "the shared file pointer of " + handle.path + " cannot be used");
  return start + before;
}

Outcome file_seek(Handle& handle, MPI_Offset offset, int whence) {
  // The library looks for the end in the file.
  if (handle.in_library())
    return whence == MPI_SEEK_END ? drain_before_library_call(handle, false, false) : std::nullopt;
  int64_t position = handle.position.load(std::memory_order_relaxed);
  int64_t target = 0;
  do {
    if (const int code = seek_target(handle, offset, whence, position, &target))
      return raise_code(handle, code);
  } while (!handle.position.compare_exchange_weak(position, target, std::memory_order_relaxed));
  return MPI_SUCCESS;
}

Outcome file_get_position(Handle& handle, MPI_Offset* offset) {
  *offset = handle.position.load(std::memory_order_relaxed);
  return MPI_SUCCESS;
}

Outcome file_get_byte_offset(Handle& handle, MPI_Offset offset, MPI_Offset* disp) {
  if (offset < 0) return std::nullopt;
  if (!handle.view.reaches(offset, 0)) return raise_code(handle, MPI_ERR_ARG);
  *disp = handle.view.byte_offset(offset);
  return MPI_SUCCESS;
}

Outcome file_seek_shared(Handle& handle, MPI_Offset offset, int whence) {
  decide(handle);
  if (handle.in_library())
    return whence == MPI_SEEK_END ? drain_before_library_call(handle, false, true) : std::nullopt;
  // Nobody's earlier call may move it afterwards, and nobody's later call may come before it is set.
  handle.team.barrier();
  int code = MPI_SUCCESS;
  if (handle.rank == 0) {
    int64_t target = 0;
    const Result<int64_t> current = shared_fetch_add(handle, 0);
    code = current.ok() ? seek_target(handle, offset, whence, current.value(), &target)
                        : error_class(current.status());
    if (code == MPI_SUCCESS) code = error_class(store_shared(handle, target));
  }
  code = static_cast<int>(handle.team.from(0, code));
  return raise_code(handle, code);
}

Outcome file_get_position_shared(Handle& handle, MPI_Offset* offset) {
  const Result<int64_t> value = shared_fetch_add(handle, 0);
  if (!value.ok()) return raise_error(handle, value.status());
  *offset = value.value();
  return MPI_SUCCESS;
}

}  // namespace pmio
