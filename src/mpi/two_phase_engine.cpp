// The engine of a handle with pmio_mode=twophase: its blocking and split collective calls are buffered
// collectively, all others go straight to the file.
#include <memory>
#include <utility>

#include "mpi/aside.h"
#include "mpi/exchanged.h"
#include "mpi/process.h"
#include "mpi/straight_engine.h"

namespace pmio {
namespace {

class TwoPhaseEngine final : public StraightEngine {
 public:
  struct Turn {
    Turn(Handle& /*handle*/, const Call& /*call*/) {}
  };

  Status write(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory) {
    if (!is_exchanged(call)) return write_straight(handle, etype_offset, memory);
    InHostMemory host(memory);
    PMIO_TRY(fetch_or(host, [&] { (void)exchange_write(handle, {}); }));
    return exchange_write(handle, request_of(handle, etype_offset, memory, host));
  }

  Status read(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory, uint64_t* got) {
    if (!is_exchanged(call)) return read_straight(handle, etype_offset, memory, got);
    InHostMemory host(memory);
    PMIO_TRY(exchange_read(handle, request_of(handle, etype_offset, memory, host), got));
    return host.store(*got);
  }

  // The others wait for it.
  void without_bytes(Handle& handle, const Call& call, bool /*failed*/) {
    if (is_exchanged(call)) (void)take_part(handle, call.direction);
  }
  Status take_error(Handle& /*handle*/) { return {}; }

  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override;
  Moved end_split(Handle& handle) override;
  Mode mode() const override { return Mode::twophase; }

 private:
  // A rank that cannot drain what others have logged gives nothing, and returns its error.
  static Status exchange_write(Handle& handle, const TwoPhaseRequest& request) {
    const Status drained = drain_before_straight_call(handle, true);
    Status written = handle.buffered->engine().write(drained.ok() ? request : TwoPhaseRequest());
    if (Process::instance().spans_nodes()) {
      // Other nodes see what the aggregators have written when all are through.
      const Status synced = handle.straight->sync();
      const int worst = handle.team.worst(synced.ok() ? MPI_SUCCESS : MPI_ERR_IO);
      if (written.ok() && worst != MPI_SUCCESS)
        written =
            synced.ok() ? Status(Code::io, "an aggregator could not sync '" + handle.path + "'") : synced;
    }
    return drained.ok() ? written : drained;
  }

  static Status exchange_read(Handle& handle, const TwoPhaseRequest& request, uint64_t* got) {
    *got = 0;
    const Status drained = drain_before_straight_call(handle, false);
    const Status read = handle.buffered->engine().read(drained.ok() ? request : TwoPhaseRequest(), got);
    return drained.ok() ? read : drained;
  }

  static Status take_part(Handle& handle, Direction direction) {
    uint64_t got = 0;
    return direction == Direction::write ? exchange_write(handle, {}) : exchange_read(handle, {}, &got);
  }
};
constinit TwoPhaseEngine the_two_phase_engine;

// The begin of a split call: all but moving the bytes. A rank with an error will not come to the end, so that
// it takes part at once.
class SplitBegin {
 public:
  explicit SplitBegin(const Transfer& transfer) : transfer_(transfer) {}
  using Turn = TwoPhaseEngine::Turn;
  struct MovesLater {};

  Status write(Handle& handle, const Call& /*call*/, int64_t etype_offset, const Memory& /*memory*/) {
    return keep(handle, etype_offset);
  }
  Status read(Handle& handle, const Call& /*call*/, int64_t etype_offset, const Memory& /*memory*/,
              uint64_t* got) {
    *got = 0;
    return keep(handle, etype_offset);
  }
  void without_bytes(Handle& handle, const Call& call, bool failed) {
    if (failed)
      the_two_phase_engine.without_bytes(handle, call, failed);
    else
      handle.split_later = Handle::SplitLater{call.direction, std::nullopt, HeldType()};
  }
  Status take_error(Handle& /*handle*/) { return {}; }

 private:
  Status keep(Handle& handle, int64_t etype_offset) {
    handle.split_later = Handle::SplitLater{transfer_.direction, transfer_, HeldType(transfer_.datatype)};
    Transfer& later = *handle.split_later->transfer;
    later.pointer = Pointer::explicit_offset;
    later.offset = etype_offset;
    later.datatype = handle.split_later->datatype.get();
    return {};
  }
  const Transfer& transfer_;
};

Moved TwoPhaseEngine::transfer(Handle& handle, const Transfer& transfer, Completion completion) {
  if (transfer.pointer == Pointer::shared && handle.shared_in_library) return {hand_on(handle, transfer)};
  if (completion != Completion::split) return carry_out(*this, handle, transfer, completion);
  SplitBegin begin(transfer);
  return carry_out(begin, handle, transfer, completion);
}

Moved TwoPhaseEngine::end_split(Handle& handle) {
  const Handle::SplitLater later = *std::exchange(handle.split_later, std::nullopt);
  if (later.transfer) return carry_out(*this, handle, *later.transfer, Completion::split);
  return {raise_error(handle, take_part(handle, later.direction))};
}

}  // namespace

Engine& two_phase_engine() { return the_two_phase_engine; }

}  // namespace pmio
