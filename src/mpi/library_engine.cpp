#include "mpi/library_engine.h"

#include <atomic>

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/close.h"
#include "mpi/next_functions.h"
#include "mpi/preallocate.h"
#include "mpi/straight_engine.h"

namespace pmio {
namespace {

std::atomic<bool> has_begun_nonblocking_calls{false};

class HandedOn final : public LibraryEngine {};
constinit HandedOn the_library_engine;

}  // namespace

Engine& library_engine() { return the_library_engine; }

bool library_may_write_later() { return has_begun_nonblocking_calls.load(std::memory_order_relaxed); }

Moved LibraryEngine::transfer(Handle& handle, const Transfer& transfer, Completion completion) {
  const bool writes = transfer.direction == Direction::write;
  if (completion == Completion::nonblocking)
    has_begun_nonblocking_calls.store(true, std::memory_order_relaxed);
  if (transfer.pointer == Pointer::shared) handle.uses_shared.store(true, std::memory_order_relaxed);
  return {drain_before_library_call(handle, writes, transfer.collective)};
}

Outcome LibraryEngine::set_size(Handle& handle, MPI_Offset size) {
  (void)drain_before_library_call(handle, true, true);
  const int code = next_functions.File_set_size.next()(handle.real, size);
  note_truncation(handle);
  return after_library_call(handle, code);
}

Outcome LibraryEngine::preallocate(Handle& handle, MPI_Offset size) {
  (void)drain_before_library_call(handle, true, true);
  if (is_wrong_preallocation(handle, size)) return std::nullopt;
  const Room room = make_room(handle, static_cast<uint64_t>(size));
  return room.made ? after_library_call(handle, *room.outcome) : room.outcome;
}

Outcome LibraryEngine::sync(Handle& handle) { return drain_before_library_call(handle, true, true); }

// It may have logged before it was handed on, or gone straight.
int LibraryEngine::close(Handle& handle) {
  if (handle.straight) return close_straight(handle);
  return handle.file ? close_log(handle) : MPI_SUCCESS;
}

Outcome LibraryEngine::get_size(Handle& handle, MPI_Offset* /*size*/) {
  return drain_before_library_call(handle, false, false);
}

Result<uint64_t> LibraryEngine::size_bytes(Handle& /*handle*/) {
  return Status(Code::unsupported, "the MPI library has the file");
}

// By any descriptor of the file: what write(2) has written belongs to the file, not to a descriptor.
Status LibraryEngine::persist(Handle& handle) {
  if (handle.file) return handle.file->changes().sync();
  auto target = TargetFile::open(handle.path, TargetFile::Access::write_only);
  return target.ok() ? (*target)->sync() : target.status();
}

Status LibraryEngine::drain(Handle& /*handle*/) { return {}; }

}  // namespace pmio
