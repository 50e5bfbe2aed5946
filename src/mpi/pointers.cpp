// File pointers: individual and shared.
#include "mpi/pointers.h"

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/process.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// Where MPI_File_seek goes to from `current`. invalid: before the file's begin, or an unknown whence.
Result<int64_t> seek_target(Handle& handle, MPI_Offset offset, int whence, int64_t current) {
  int64_t target = offset;
  if (whence == MPI_SEEK_CUR) {
    target += current;
  } else if (whence == MPI_SEEK_END) {
    const Result<uint64_t> size = handle.engine().size_bytes(handle);
    if (!size.ok()) return size.status();
    target += handle.view.end_of_file(static_cast<int64_t>(size.value()));
  } else if (whence != MPI_SEEK_SET) {
    return Status(Code::invalid, "an unknown whence");
  }
  if (target < 0) return Status(Code::invalid, "a pointer before the file's begin");
  return target;
}

// If the log directory is gone, a rank that has not used the pointer yet cannot find the others' any more.
Status require_shared(const Handle& handle) {
  if (!handle.file || handle.shared->used() || !Process::instance().joined()->has_lost_log()) return {};
  return Status(Code::io, "the shared file pointer of '" + handle.path +
                              "' cannot be used any more: the log directory was removed");
}

}  // namespace

Result<int64_t> shared_fetch_add(Handle& handle, int64_t by) {
  if (handle.file && handle.file->reach().spans_nodes()) {
    handle.uses_shared.store(true, std::memory_order_relaxed);
    return handle.cluster->fetch_add(static_cast<uint64_t>(handle.number), handle.view_epoch,
                                     handle.shared_start, by);
  }
  PMIO_TRY(require_shared(handle));
  return handle.shared->fetch_add(handle.view_epoch, handle.shared_start, by);
}

static Status store_shared(Handle& handle, int64_t value) {
  if (handle.file && handle.file->reach().spans_nodes()) {
    handle.uses_shared.store(true, std::memory_order_relaxed);
    return handle.cluster->store(static_cast<uint64_t>(handle.number), handle.view_epoch, value);
  }
  PMIO_TRY(require_shared(handle));
  return handle.shared->store(handle.view_epoch, value);
}

static Status seek_shared_here(Handle& handle, MPI_Offset offset, int whence) {
  const Result<int64_t> current = shared_fetch_add(handle, 0);
  if (!current.ok()) return current.status();
  const Result<int64_t> target = seek_target(handle, offset, whence, current.value());
  return target.ok() ? store_shared(handle, target.value()) : target.status();
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
  // The library looks for the end in the file, not in the log.
  if (handle.in_library())
    return whence == MPI_SEEK_END ? drain_before_library_call(handle, false, false) : std::nullopt;
  int64_t position = handle.position.load(std::memory_order_relaxed);
  Result<int64_t> target = int64_t{0};
  do {
    target = seek_target(handle, offset, whence, position);
    if (!target.ok()) return raise_code(handle, error_class(target.status()));
  } while (!handle.position.compare_exchange_weak(position, *target, std::memory_order_relaxed));
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
  if (handle.in_library()) {
    handle.uses_shared.store(true, std::memory_order_relaxed);
    return whence == MPI_SEEK_END ? drain_before_library_call(handle, false, true) : std::nullopt;
  }
  if (handle.shared_in_library) return std::nullopt;
  // No earlier call of any rank may move the pointer afterwards, and no later call may come before it is set.
  handle.team.barrier();
  int code = MPI_SUCCESS;
  if (handle.rank == 0) {
    code = error_class(seek_shared_here(handle, offset, whence));
  }
  code = static_cast<int>(handle.team.from(0, code));
  return raise_code(handle, code);
}

Outcome file_get_position_shared(Handle& handle, MPI_Offset* offset) {
  if (handle.shared_in_library) return std::nullopt;
  const Result<int64_t> value = shared_fetch_add(handle, 0);
  if (!value.ok()) return raise_error(handle, value.status());
  *offset = value.value();
  return MPI_SUCCESS;
}

}  // namespace pmio
