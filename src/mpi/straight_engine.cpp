#include "mpi/straight_engine.h"

#include "mpi/aside.h"
#include "mpi/next_functions.h"
#include "mpi/preallocate.h"
#include "mpi/process.h"
#include "mpi/staged.h"

namespace pmio {
namespace {

class IndependentEngine final : public StraightEngine {
 public:
  struct Turn {
    Turn(Handle& /*handle*/, const Call& /*call*/) {}
  };

  Status write(Handle& handle, const Call& /*call*/, int64_t etype_offset, const Memory& memory) {
    return write_straight(handle, etype_offset, memory);
  }
  Status read(Handle& handle, const Call& /*call*/, int64_t etype_offset, const Memory& memory,
              uint64_t* got) {
    return read_straight(handle, etype_offset, memory, got);
  }
  // Nobody waits for it.
  void without_bytes(Handle& /*handle*/, const Call& /*call*/, bool /*failed*/) {}
  Status take_error(Handle& /*handle*/) { return {}; }

  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override {
    if (transfer.pointer == Pointer::shared && handle.shared_in_library) return {hand_on(handle, transfer)};
    return carry_out(*this, handle, transfer, completion);
  }
  Mode mode() const override { return Mode::independent; }
};
constinit IndependentEngine the_independent_engine;

}  // namespace

Engine& independent_engine() { return the_independent_engine; }

Status StraightEngine::write_straight(Handle& handle, int64_t etype_offset, const Memory& memory) {
  PMIO_TRY(drain_before_straight_call(handle, true));
  PatternCursor to = handle.view.cursor(etype_offset), from = memory.cursor();
  if (memory.on_device()) {
    return write_staged(memory,
                        [&](PatternCursor& staged, const std::byte* stage, uint64_t bytes, bool /*goes_on*/) {
                          return handle.straight->write(to, staged, stage, bytes);
                        });
  }
  return handle.straight->write(to, from, memory.base(), memory.bytes());
}

Status StraightEngine::read_straight(Handle& handle, int64_t etype_offset, const Memory& memory,
                                     uint64_t* got) {
  PMIO_TRY(drain_before_straight_call(handle, false));
  *got = 0;
  PatternCursor from = handle.view.cursor(etype_offset), to = memory.cursor();
  if (memory.on_device()) {
    const auto read = [&](PatternCursor& staged, std::byte* stage, uint64_t bytes, uint64_t* now) {
      return handle.straight->read(from, staged, stage, bytes, now);
    };
    return read_staged(memory, read, got);
  }
  return handle.straight->read(from, to, memory.base(), memory.bytes(), got);
}

Outcome StraightEngine::hand_on(Handle& handle, const Transfer& transfer) {
  return drain_before_library_call(handle, transfer.direction == Direction::write, transfer.collective);
}

Outcome StraightEngine::set_size(Handle& handle, MPI_Offset size) {
  if (size < 0 || !handle.can_write()) return std::nullopt;
  // Nobody truncates what another rank is still writing, and none writes before the truncation.
  if (const int code = drain_together_before_straight_call(handle); code != MPI_SUCCESS) return code;
  const int code = next_functions.File_set_size.next()(handle.real, size);
  note_truncation(handle);
  Status told;
  if (code == MPI_SUCCESS) told = handle.straight->size_was_set(static_cast<uint64_t>(size));
  handle.team.barrier();
  return told.ok() ? code : raise_error(handle, told);
}

Outcome StraightEngine::preallocate(Handle& handle, MPI_Offset size) {
  if (is_wrong_preallocation(handle, size)) return std::nullopt;
  if (const int code = drain_together_before_straight_call(handle); code != MPI_SUCCESS) return code;
  const Room room = make_room(handle, static_cast<uint64_t>(size));
  if (!room.made) return room.outcome;
  handle.team.barrier();
  return room.outcome;
}

// The library's comes next, which syncs its own writes by the shared pointer.
Outcome StraightEngine::sync(Handle& handle) {
  if (!handle.can_write()) return std::nullopt;
  Status status = drain_before_straight_call(handle, true);
  if (status.ok()) status = handle.straight->sync();
  if (!status.ok()) return raise_error(handle, status);
  return std::nullopt;
}

Result<uint64_t> StraightEngine::size_bytes(Handle& handle) {
  const Status drained = drain_before_straight_call(handle, false);
  if (!drained.ok()) return drained;
  return handle.straight->size_bytes();
}

Status StraightEngine::persist(Handle& handle) { return handle.straight->sync(); }

int StraightEngine::close(Handle& handle) { return close_straight(handle); }

void note_straight(Handle& handle) {
  FileNumbers done = handle.straight->target().take_numbers();
  if (handle.buffered) add_to(done, handle.buffered->engine().counters());
  Process::instance().note_straight(handle, done);
}

int close_straight(Handle& handle) {
  Status status;
  if (handle.can_write()) status = handle.straight->target().flush();
  if (!status.ok()) complain_once(status.message());
  // Nobody returns before all have written.
  const int worst = handle.team.worst(error_class(status));
  if (handle.rank == 0 && handle.shared && (handle.ranks > 1 || handle.shared->used()))
    handle.shared->remove();
  note_straight(handle);
  handle.buffered.reset();
  handle.straight.reset();
  return worst;
}

}  // namespace pmio
