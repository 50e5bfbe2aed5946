// All reads and writes of a handle that logs, or may be decided to.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/memory.h"
#include "mpi/pointers.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// The library has an error for it, before it does anything.
bool is_wrong(const Handle& handle, const Transfer& t) {
  if (t.count < 0 || t.datatype == MPI_DATATYPE_NULL) return true;
  return t.direction == Direction::write ? !handle.can_write() : !handle.can_read();
}

// Of what is in a GPU's memory, at a time in the CPU's.
constexpr uint64_t kStageBytes = 4 << 20;

const Pattern& byte_stream() {
  static const Pattern& stream = *new Pattern(Pattern::bytes(1));
  return stream;
}

Status write_from_device(Handle& handle, int64_t etype_offset, const Memory& memory, CallNumber call) {
  PatternCursor to = handle.view.cursor(etype_offset), from = memory.cursor();
  const bool independent = call.independent && handle.file->spans_nodes();
  const auto stage = std::make_unique_for_overwrite<std::byte[]>(std::min(kStageBytes, memory.bytes()));
  for (uint64_t left = memory.bytes(); left > 0;) {
    const uint64_t bytes = std::min(left, kStageBytes);
    PMIO_TRY(memory.fetch(from, stage.get(), bytes));
    PatternCursor staged(byte_stream(), 0, 0);
    call.goes_on = left > bytes;
    PMIO_TRY(independent ? handle.file->write_independent(to, staged, stage.get(), bytes, call)
                         : handle.file->append(to, staged, stage.get(), bytes, call));
    left -= bytes;
  }
  return {};
}

Status read_to_device(Handle& handle, int64_t etype_offset, const Memory& memory, bool collective,
                      uint64_t* done) {
  PatternCursor from = handle.view.cursor(etype_offset), to = memory.cursor();
  const auto stage = std::make_unique_for_overwrite<std::byte[]>(std::min(kStageBytes, memory.bytes()));
  for (uint64_t left = memory.bytes(); left > 0;) {
    const uint64_t bytes = std::min(left, kStageBytes);
    uint64_t got = 0;
    PatternCursor staged(byte_stream(), 0, 0);
    PMIO_TRY(handle.file->read(from, staged, stage.get(), bytes, &got, collective));
    PMIO_TRY(memory.store(to, stage.get(), got));
    *done += got;
    if (got < bytes) break;
    left -= bytes;
  }
  return {};
}

void say_what_is_used_up(Handle& handle) {
  if (handle.file->has_used_up_stamps())
    complain_once(
        "'" + handle.path +
        "' has been written independently 4,294,967,295 times since it was opened; on this node such "
        "writes go to the file from now on, not to the log: open it anew to have them logged");
}

Status write_at(Handle& handle, int64_t etype_offset, const Memory& memory, CallNumber call) {
  if (memory.on_device()) [[unlikely]]
    return write_from_device(handle, etype_offset, memory, call);
  const FileView& view = handle.view;
  if (call.independent && handle.file->spans_nodes()) {
    PatternCursor to = view.cursor(etype_offset);
    PatternCursor from = memory.cursor();
    Status written = handle.file->write_independent(to, from, memory.base(), memory.bytes(), call);
    say_what_is_used_up(handle);
    return written;
  }
  if (view.filetype->pattern.dense && memory.contiguous() != nullptr) {
    return handle.file->append(static_cast<uint64_t>(view.byte_offset(etype_offset)), memory.contiguous(),
                               memory.bytes(), call);
  }
  PatternCursor to = view.cursor(etype_offset);
  PatternCursor from = memory.cursor();
  return handle.file->append(to, from, memory.base(), memory.bytes(), call);
}

Status read_at(Handle& handle, int64_t etype_offset, const Memory& memory, bool collective, uint64_t* got) {
  if (memory.on_device()) [[unlikely]]
    return read_to_device(handle, etype_offset, memory, collective, got);
  const FileView& view = handle.view;
  if (view.filetype->pattern.dense && memory.contiguous() != nullptr) {
    return handle.file->read(static_cast<uint64_t>(view.byte_offset(etype_offset)), memory.contiguous(),
                             memory.bytes(), got, collective);
  }
  PatternCursor from = view.cursor(etype_offset);
  PatternCursor to = memory.cursor();
  return handle.file->read(from, to, memory.base(), memory.bytes(), got, collective);
}

// What the file could never take must not be logged: no drain could end any more.
Status look_at_end(Handle& handle, Direction direction, int64_t etype_offset, uint64_t bytes) {
  if (!handle.view.reaches(etype_offset, bytes)) {
    return {Code::invalid,
            "a transfer beyond the largest file offset, or beyond the first of filetypes that overlap each "
            "other"};
  }
  if (handle.largest_bytes == INT32_MAX) handle.largest_bytes = handle.file->target().largest_bytes();
  if (direction == Direction::read || handle.view.end_offset(etype_offset, bytes) <= handle.largest_bytes)
    return {};
  return Status::from_errno(EFBIG, "cannot write '" + handle.path + "' beyond byte " +
                                       std::to_string(handle.largest_bytes.load()) +
                                       ", the last that its file system takes");
}

// One call at a known place. *done: bytes that were moved.
Status move(Handle& handle, const Transfer& t, int64_t etype_offset, Memory& memory, CallNumber call,
            uint64_t* done) {
  *done = 0;
  // A filetype without bytes takes nothing and gives nothing.
  if (memory.bytes() == 0 || handle.view.filetype->size == 0) {
    if (t.collective && t.direction == Direction::write) handle.file->note_empty_call(call);
    return {};
  }
  if (!handle.view.reaches(etype_offset, memory.bytes(), handle.largest_bytes))
    PMIO_TRY(look_at_end(handle, t.direction, etype_offset, memory.bytes()));
  if (t.direction == Direction::write) {
    PMIO_TRY(write_at(handle, etype_offset, memory, call));
    *done = memory.bytes();
  } else {
    PMIO_TRY(read_at(handle, etype_offset, memory, t.collective, done));
    PMIO_TRY(memory.deliver(t, *done));
  }
  // Not before the transfer: the log may have room for what the file could not take.
  return handle.file->take_error();
}

// Both pointers move before the access, and by what is asked for (MPI 4.1, 14.4.1), so that other threads and
// other ranks go on behind it meanwhile.
int64_t take_individual(Handle& handle, const Memory& memory) {
  return handle.position.fetch_add(static_cast<int64_t>(handle.view.etypes_in(memory.bytes())),
                                   std::memory_order_relaxed);
}

Result<int64_t> take_shared(Handle& handle, const Transfer& t, const Memory& memory) {
  const auto etypes = static_cast<int64_t>(handle.view.etypes_in(memory.bytes()));
  return t.collective ? ordered_fetch_add(handle, etypes) : shared_fetch_add(handle, etypes);
}

Status move_by_pointer(Handle& handle, const Transfer& t, Memory& memory, CallNumber call, uint64_t* done) {
  switch (t.pointer) {
    case Pointer::explicit_offset:
      return move(handle, t, t.offset, memory, call, done);
    case Pointer::individual:
      return move(handle, t, take_individual(handle, memory), memory, call, done);
    case Pointer::shared: {
      const Result<int64_t> start = take_shared(handle, t, memory);
      if (!start.ok()) return start.status();
      return move(handle, t, start.value(), memory, call, done);
    }
  }
  return {};
}

// A collective write call on a file whose ranks are on several nodes: counted on all of them alike.
class SpanningCall {
 public:
  SpanningCall(Handle& handle, bool counts, bool may_wait)
      : file_(counts && handle.file->spans_nodes() ? handle.file.get() : nullptr) {
    if (file_ != nullptr) file_->begin_call(may_wait);
  }
  ~SpanningCall() {
    if (file_ != nullptr) file_->end_call();
  }
  SpanningCall(const SpanningCall&) = delete;
  SpanningCall& operator=(const SpanningCall&) = delete;

 private:
  File* file_;
};

// Nothing where the call is to be handed on.
// may_wait: for other ranks, as the call is defined.
Answer carry_out(Handle& handle, const Transfer& t, uint64_t* done, bool may_wait = true) {
  if (!handle.logs) decide_for(handle, t, may_wait);
  if (!handle.logs) return drain_before_library_call(handle, t.direction == Direction::write, t.collective);
  // Counted first, so that the number stays the same on all ranks where one of them made a mistake.
  const bool counts = t.collective && t.direction == Direction::write;
  const uint32_t number = handle.collective_writes.load(std::memory_order_relaxed) + (counts ? 1 : 0);
  if (counts) handle.collective_writes.store(number, std::memory_order_relaxed);
  const CallNumber call(handle.open, number, !counts);
  const SpanningCall spanning(handle, counts, may_wait);
  if (is_wrong(handle, t)) return std::nullopt;
  // Not left to the library: Open MPI would try.
  if (t.pointer == Pointer::explicit_offset && t.offset < 0) return raise_code(handle, MPI_ERR_ARG);
  Result<Memory> memory = Memory::of(t);
  if (!memory.ok()) return raise_error(handle, memory.status());
  if (memory.value().missing()) return raise_code(handle, MPI_ERR_BUFFER);
  if (memory.value().bytes() % handle.view.etype_size() != 0) return raise_code(handle, MPI_ERR_IO);
  return raise_error(handle, move_by_pointer(handle, t, memory.value(), call, done));
}

void fill_status(MPI_Status* status, uint64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  mpi().Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  mpi().Status_set_cancelled(status, 0);
}

int query_request(void* extra, MPI_Status* status) {
  fill_status(status, *static_cast<uint64_t*>(extra));
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int free_request(void* extra) {
  delete static_cast<uint64_t*>(extra);
  return MPI_SUCCESS;
}

int cancel_request(void*, int) { return MPI_SUCCESS; }

}  // namespace

Answer blocking(Handle& handle, const Transfer& transfer, MPI_Status* status) {
  uint64_t done = 0;
  const Answer answer = carry_out(handle, transfer, &done);
  if (answer == MPI_SUCCESS) fill_status(status, done);
  return answer;
}

Answer nonblocking(Handle& handle, const Transfer& transfer, MPI_Request* request) {
  uint64_t done = 0;
  const Answer answer = carry_out(handle, transfer, &done, false);
  if (answer != MPI_SUCCESS) return answer;
  auto* extra = new uint64_t(done);
  const int code = mpi().Grequest_start(&query_request, &free_request, &cancel_request, extra, request);
  if (code != MPI_SUCCESS) {
    delete extra;
    return raise_code(handle, code);
  }
  return mpi().Grequest_complete(*request);
}

Answer split_begin(Handle& handle, const Transfer& transfer) {
  if (handle.logs && handle.split) return raise_code(handle, MPI_ERR_IO);
  uint64_t done = 0;
  const Answer answer = carry_out(handle, transfer, &done);
  if (answer == MPI_SUCCESS) handle.split = done;
  handle.split_in_library = !answer && handle.undecided;
  return answer;
}

Answer split_end(Handle& handle, MPI_Status* status) {
  if (handle.split) {
    // Whichever end it is: the libraries do not tell them apart either.
    fill_status(status, *std::exchange(handle.split, std::nullopt));
    return MPI_SUCCESS;
  }
  // Not left to the library: Open MPI would crash.
  if (handle.logs) return raise_code(handle, MPI_ERR_IO);
  handle.split_in_library = false;
  return std::nullopt;
}

}  // namespace pmio
