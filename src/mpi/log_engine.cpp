#include "mpi/log_engine.h"

#include <algorithm>

#include "mpi/aside.h"
#include "mpi/close.h"
#include "mpi/next_functions.h"
#include "mpi/preallocate.h"
#include "mpi/staged.h"

namespace pmio {
namespace {

Status write_from_device(Handle& handle, int64_t etype_offset, const Memory& memory, CallNumber call) {
  PatternCursor to = handle.view.cursor(etype_offset);
  const bool independent = call.independent && handle.file->reach().spans_nodes();
  return write_staged(memory, [&](PatternCursor& from, const std::byte* stage, uint64_t bytes, bool goes_on) {
    call.goes_on = goes_on;
    return independent ? Spanning::of(*handle.file).write_independent(to, from, stage, bytes, call)
                       : handle.file->append(to, from, stage, bytes, call);
  });
}

Status read_to_device(Handle& handle, int64_t etype_offset, const Memory& memory, bool collective,
                      uint64_t* done) {
  PatternCursor from = handle.view.cursor(etype_offset);
  const auto read = [&](PatternCursor& to, std::byte* stage, uint64_t bytes, uint64_t* got) {
    return handle.file->read(from, to, stage, bytes, got, collective);
  };
  return read_staged(memory, read, done);
}

void say_what_is_used_up(Handle& handle) {
  if (Spanning::of(*handle.file).has_used_up_stamps())
    complain_once(
        "'" + handle.path +
        "' has been written independently 4,294,967,295 times since it was opened; on this node such "
        "writes go to the file from now on, not to the log: open it anew to have them logged");
}

Status write_independent(Handle& handle, int64_t etype_offset, const Memory& memory, CallNumber call) {
  PatternCursor to = handle.view.cursor(etype_offset), from = memory.cursor();
  Status written =
      Spanning::of(*handle.file).write_independent(to, from, memory.base(), memory.bytes(), call);
  say_what_is_used_up(handle);
  return written;
}

bool is_contiguous(const FileView& view, const Memory& memory) {
  return view.filetype->pattern.dense && memory.contiguous() != nullptr;
}

// The success may be an error handler's. On one node the file itself tells; another node's client of the file
// system may still show the old size.
void know_size(File& file, uint64_t wanted) {
  const Result<uint64_t> size = file.target().size_bytes();
  file.changes().set_known_size(size.ok() && !file.reach().spans_nodes() ? size.value() : wanted);
}

}  // namespace

Status LogEngine::write(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory) {
  if (memory.on_device()) [[unlikely]]
    return write_from_device(handle, etype_offset, memory, call.number);
  if (call.number.independent && handle.file->reach().spans_nodes())
    return write_independent(handle, etype_offset, memory, call.number);
  const FileView& view = handle.view;
  if (is_contiguous(view, memory)) {
    return handle.file->append(static_cast<uint64_t>(view.byte_offset(etype_offset)), memory.contiguous(),
                               memory.bytes(), call.number);
  }
  PatternCursor to = view.cursor(etype_offset), from = memory.cursor();
  return handle.file->append(to, from, memory.base(), memory.bytes(), call.number);
}

Status LogEngine::read(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory,
                       uint64_t* got) {
  if (memory.on_device()) [[unlikely]]
    return read_to_device(handle, etype_offset, memory, call.collective, got);
  const FileView& view = handle.view;
  if (is_contiguous(view, memory)) {
    return handle.file->read(static_cast<uint64_t>(view.byte_offset(etype_offset)), memory.contiguous(),
                             memory.bytes(), got, call.collective);
  }
  PatternCursor from = view.cursor(etype_offset), to = memory.cursor();
  return handle.file->read(from, to, memory.base(), memory.bytes(), got, call.collective);
}

Moved LogEngine::transfer(Handle& handle, const Transfer& transfer, Completion completion) {
  return carry_out(*this, handle, transfer, completion);
}

Outcome LogEngine::set_size(Handle& handle, MPI_Offset size) {
  if (size < 0 || !handle.can_write()) return std::nullopt;
  if (const int code = drain_together(handle); code != MPI_SUCCESS) return code;
  const int code = next_functions.File_set_size.next()(handle.real, size);
  handle.file->changes().truncated_here();
  handle.file->changes().invalidate_cache();
  if (code == MPI_SUCCESS) know_size(*handle.file, static_cast<uint64_t>(size));
  // The library does it on one node; another node's client of the file system may go on with the old size.
  if (code == MPI_SUCCESS && handle.file->reach().spans_nodes())
    (void)handle.file->target().set_size(static_cast<uint64_t>(size));
  // Across nodes a rank that went ahead could write bytes that another rank truncates again.
  handle.team.barrier();
  return code;
}

Outcome LogEngine::preallocate(Handle& handle, MPI_Offset size) {
  if (is_wrong_preallocation(handle, size)) return std::nullopt;
  if (const int code = drain_together(handle); code != MPI_SUCCESS) return code;
  const auto bytes = static_cast<uint64_t>(size);
  const Room room = make_room(handle, bytes);
  if (!room.made) return room.outcome;
  handle.file->changes().invalidate_cache();
  if (room.outcome == MPI_SUCCESS) handle.file->changes().set_known_size(std::max(room.end, bytes));
  handle.team.barrier();
  return room.outcome;
}

int LogEngine::close(Handle& handle) {
  note_gathering(handle);
  handle.gathering.reset();
  return close_log(handle);
}

Outcome LogEngine::sync(Handle& handle) {
  // A read-only handle gets the library's error.
  if (!handle.can_write()) return std::nullopt;
  Status status = handle.file->sync();
  if (status.ok()) status = handle.file->errors().take();
  if (!status.ok()) return raise_error(handle, status);
  return std::nullopt;
}

namespace {

class PlainLogEngine final : public LogEngine {};
constinit PlainLogEngine the_log_engine;

}  // namespace

Engine& log_engine() { return the_log_engine; }

}  // namespace pmio
