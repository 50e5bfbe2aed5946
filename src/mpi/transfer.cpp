// Reads and writes as the program has called them: blocking, nonblocking, split.
#include <utility>

#include "base/clock.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/memory.h"

namespace pmio {
namespace {

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

Moved count_and_move(Handle& handle, const Transfer& transfer, Completion completion) {
  const uint64_t begin = monotonic_ns();
  const Moved moved = handle.engine().transfer(handle, transfer, completion);
  const uint64_t ns = monotonic_ns() - begin;
  // The library's part is still to come, and LibraryTime counts it.
  if (!moved.outcome)
    handle.calls.count(transfer, bytes_of(transfer), 0);
  else
    handle.calls.count(transfer, moved.bytes, ns);
  return moved;
}

// The log counts what it does by itself.
Moved move_for(Handle& handle, const Transfer& transfer, Completion completion) {
  Engine& engine = handle.engine();
  if (FileStatistics::on() && !engine.counts_calls()) [[unlikely]]
    return count_and_move(handle, transfer, completion);
  return engine.transfer(handle, transfer, completion);
}

Moved end_of_split(Handle& handle) {
  const Direction direction = handle.split_later->direction;
  if (!FileStatistics::on()) return handle.engine().end_split(handle);
  const uint64_t begin = monotonic_ns();
  const Moved moved = handle.engine().end_split(handle);
  handle.calls.end_split(direction, moved.bytes, monotonic_ns() - begin);
  return moved;
}

}  // namespace

Outcome blocking(Handle& handle, const Transfer& transfer, MPI_Status* status) {
  const Moved moved = move_for(handle, transfer, Completion::blocking);
  if (moved.outcome == MPI_SUCCESS) fill_status(status, moved.bytes);
  return moved.outcome;
}

Outcome nonblocking(Handle& handle, const Transfer& transfer, MPI_Request* request) {
  const Moved moved = move_for(handle, transfer, Completion::nonblocking);
  if (moved.outcome != MPI_SUCCESS) return moved.outcome;
  auto* extra = new uint64_t(moved.bytes);
  const int code = mpi().Grequest_start(&query_request, &free_request, &cancel_request, extra, request);
  if (code != MPI_SUCCESS) {
    delete extra;
    return raise_code(handle, code);
  }
  return mpi().Grequest_complete(*request);
}

Outcome split_begin(Handle& handle, const Transfer& transfer) {
  if (!handle.in_library() && (handle.split || handle.split_later || handle.split_in_library))
    return raise_code(handle, MPI_ERR_IO);
  const Moved moved = move_for(handle, transfer, Completion::split);
  if (moved.outcome == MPI_SUCCESS && !handle.split_later) handle.split = moved.bytes;
  handle.split_in_library = !moved.outcome;
  return moved.outcome;
}

Outcome split_end(Handle& handle, MPI_Status* status) {
  if (handle.split_later) {
    const Moved moved = end_of_split(handle);
    if (moved.outcome == MPI_SUCCESS) fill_status(status, moved.bytes);
    return moved.outcome;
  }
  if (handle.split) {
    // Whichever end it is: the libraries do not tell them apart either.
    fill_status(status, *std::exchange(handle.split, std::nullopt));
    return MPI_SUCCESS;
  }
  // Not left to the library: Open MPI would crash.
  if (!handle.in_library() && !handle.split_in_library) return raise_code(handle, MPI_ERR_IO);
  handle.split_in_library = false;
  return std::nullopt;
}

}  // namespace pmio
