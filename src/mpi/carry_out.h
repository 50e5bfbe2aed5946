// How pmio carries out a read or write of a handle whose view and pointers it keeps. It numbers the call,
// checks its arguments, moves the pointer, and has a mover move the bytes. An engine of pmio's own is such a
// mover.
//
// A mover is told of each collective call on each rank, by exactly one of write, read and without_bytes. So a
// rank with an error, or without bytes, still takes part in what the ranks do together
// (docs/decisions/0023-engine-seam.md). The compiler knows a mover's type: on the way of a byte nothing is
// virtual but Engine::transfer.
#pragma once

#include <concepts>

#include "log/segment.h"
#include "mpi/errors.h"
#include "mpi/handle.h"
#include "mpi/memory.h"
#include "mpi/pointers.h"
#include "stats/io_lines.h"

namespace pmio {

// A read or write as a mover has it.
struct Call {
  CallNumber number;
  Direction direction;
  bool collective;
  bool may_wait;  // for the other ranks, by the call's definition
  bool is_collective_write() const { return collective && direction == Direction::write; }
};

template <class M>
concept Mover = requires(M& mover, Handle& handle, const Call& call, int64_t etype_offset,
                         const Memory& memory, uint64_t* got) {
  // Held from the call's begin to its end, whatever becomes of it in between.
  requires std::constructible_from<typename M::Turn, Handle&, const Call&>;
  // All bytes of memory, which are some, from the view's etype_offset on.
  { mover.write(handle, call, etype_offset, memory) } -> std::same_as<Status>;
  // *got: the bytes that were read, fewer than memory's at the end of the file only. Not a Result, which
  // costs 4 ns more.
  { mover.read(handle, call, etype_offset, memory, got) } -> std::same_as<Status>;
  // Of a collective call, in the place of these two. failed: this rank returns an error.
  mover.without_bytes(handle, call, /*failed=*/true);
  // After a transfer: the error of an earlier write that had returned without one.
  { mover.take_error(handle) } -> std::same_as<Status>;
};

// A mover of the begins of split calls, whose ends are calls of another mover.
template <class M>
constexpr bool kMovesLater = requires {
  typename M::MovesLater;
};

// Counted whatever becomes of the call, so that its number is the same on all ranks.
inline Call next_call(Handle& handle, const Transfer& t, Completion completion) {
  const bool counts = t.collective && t.direction == Direction::write;
  const uint32_t number = handle.collective_writes.load(std::memory_order_relaxed) + (counts ? 1 : 0);
  if (counts) handle.collective_writes.store(number, std::memory_order_relaxed);
  const bool may_wait = t.collective && completion != Completion::nonblocking;
  return {CallNumber(handle.open, number, !counts), t.direction, t.collective, may_wait};
}

// The library has an error for it, before it does anything.
inline bool is_wrong(const Handle& handle, const Transfer& t) {
  if (t.count < 0 || t.datatype == MPI_DATATYPE_NULL) return true;
  return t.direction == Direction::write ? !handle.can_write() : !handle.can_read();
}

// What the program gets for an error. Nothing: the library has one.
inline Outcome raise_for(Handle& handle, Outcome code) { return code ? raise_code(handle, *code) : code; }
inline Outcome raise_for(Handle& handle, const Status& status) { return raise_error(handle, status); }

// What the file could never take must not be written: no drain of it could end any more.
Status check_end(Handle& handle, Direction direction, int64_t etype_offset, uint64_t bytes);

// A line for each collective call, if the user wants it.
void tell_call(const Handle& handle, const Transfer& transfer, int64_t etype_offset, uint64_t bytes);

// Where the call begins, in etypes of the view. The pointers move before the access, and by what is asked for
// (MPI 4.1, 14.4.1). So other threads and other ranks go on behind it meanwhile.
inline Result<int64_t> place_of(Handle& handle, const Transfer& t, uint64_t bytes) {
  if (t.pointer == Pointer::explicit_offset) return t.offset;
  const auto etypes = static_cast<int64_t>(handle.view.etypes_in(bytes));
  if (t.pointer == Pointer::individual) return handle.position.fetch_add(etypes, std::memory_order_relaxed);
  return t.collective ? ordered_fetch_add(handle, etypes) : shared_fetch_add(handle, etypes);
}

// The end of a call that has an error on this rank. The ranks of a collective call are told first: the error
// handler may never return.
template <Mover M, class Error>
Moved refuse(M& mover, Handle& handle, const Call& call, const Error& error) {
  if (call.collective) mover.without_bytes(handle, call, true);
  return {raise_for(handle, error)};
}

// The same before the call has its place. The places of an ordered call follow from what all ranks give.
template <Mover M, class Error>
Moved refuse_without_place(M& mover, Handle& handle, const Transfer& t, const Call& call,
                           const Error& error) {
  if (t.collective && t.pointer == Pointer::shared) (void)ordered_fetch_add(handle, 0);
  return refuse(mover, handle, call, error);
}

template <Mover M>
Status move(M& mover, Handle& handle, const Transfer& t, const Call& call, int64_t etype_offset,
            Memory& memory, uint64_t* done) {
  if (t.direction == Direction::write) {
    PMIO_TRY(mover.write(handle, call, etype_offset, memory));
    *done = memory.bytes();
  } else {
    PMIO_TRY(mover.read(handle, call, etype_offset, memory, done));
    PMIO_TRY(memory.deliver(t, *done));
  }
  // Not before the transfer: a log may have room for what the file could not take.
  return mover.take_error(handle);
}

template <Mover M>
Moved carry_out(M& mover, Handle& handle, const Transfer& t, Completion completion) {
  const Call call = next_call(handle, t, completion);
  const typename M::Turn turn(handle, call);
  const auto wrong = [&](const auto& error) { return refuse_without_place(mover, handle, t, call, error); };
  if (is_wrong(handle, t)) return wrong(std::nullopt);
  // Not left to the library: Open MPI would try.
  if (t.pointer == Pointer::explicit_offset && t.offset < 0) return wrong(MPI_ERR_ARG);
  Result<Memory> memory = Memory::of(t);
  if (!memory.ok()) return wrong(memory.status());
  const uint64_t bytes = memory->bytes();
  if (memory->missing()) return wrong(MPI_ERR_BUFFER);
  if (bytes % handle.view.etype_size() != 0) return wrong(MPI_ERR_IO);
  const Result<int64_t> place = place_of(handle, t, bytes);
  if (!place.ok()) return refuse(mover, handle, call, place.status());
  if (!kMovesLater<M> && t.collective && IoLines::on()) [[unlikely]]
    tell_call(handle, t, place.value(), bytes);
  // A filetype without bytes takes nothing and gives nothing.
  if (bytes == 0 || handle.view.filetype->size == 0) {
    if (call.collective) mover.without_bytes(handle, call, false);
    return {MPI_SUCCESS};
  }
  if (!handle.view.reaches(place.value(), bytes, handle.largest_bytes)) {
    const Status end = check_end(handle, t.direction, place.value(), bytes);
    if (!end.ok()) return refuse(mover, handle, call, end);
  }
  uint64_t done = 0;
  const Status moved = move(mover, handle, t, call, place.value(), *memory, &done);
  return {raise_error(handle, moved), done};
}

}  // namespace pmio
