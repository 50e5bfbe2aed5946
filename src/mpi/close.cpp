#include "mpi/close.h"

#include <array>
#include <bit>
#include <optional>

#include "base/clock.h"
#include "mpi/errors.h"
#include "mpi/names.h"
#include "mpi/process.h"
#include "mpi/undecided.h"
#include "span/spanning.h"

namespace pmio {
namespace {

// Whether the library deletes the handle's file, and nobody can read it any more, when this handle is closed.
// By the name that the program gave, which may mean another file by now, or none.
bool dies_with(const Handle& handle) {
  const std::optional<FileIdentity> named = identity_at(handle.name);
  return named && same_file(*named, handle.file->identity()) && is_only_name(handle.name) &&
         !handle.file->usage().has_other_handles() && !handle.file->usage().has_more_users(handle.ranks);
}

// Collective, after all have drained: the file as it is left, if it may rest until it is opened again. Nobody
// returns before its times are set back: that would hide what others write.
std::optional<RestingState> leave_to_rest(Handle& handle, bool drained) {
  // A group's: other ranks may be the next to open it.
  if (handle.file->reach().span() != kAllRanks) return {};
  using Numbers = std::array<int64_t, sizeof(RestingState) / sizeof(int64_t)>;
  auto numbers =
      std::bit_cast<Numbers>(Spanning::of(*handle.file).resting_state(handle.rank == 0 && drained));
  const bool reached = handle.team.largest(numbers);
  const auto all = std::bit_cast<RestingState>(numbers);
  return reached && drained && all.rests != 0 ? std::optional(all) : std::nullopt;
}

// The same on all ranks.
bool may_lag(const Handle& handle) {
  return handle.closes_in_background && !handle.in_library() && handle.can_write() &&
         (handle.amode & MPI_MODE_DELETE_ON_CLOSE) == 0;
}

// Collective, when all are in the close: whether the file may be complete later. Then all have published, and
// whoever opens it from now on finds that it lags.
bool all_lag(Handle& handle, bool small, bool flushed) {
  const bool lags = !small && flushed && handle.file->closing().begin_lag();
  int64_t told[] = {lags ? 0 : 1};
  return handle.team.largest(told) && told[0] == 0;
}

// Collective: drains what the handle's ranks have logged. MPI's code, the same on all ranks.
int drain_for_close(Handle& handle) {
  // Nobody drains before everybody has written, and nobody gives segments back before everybody has drained.
  handle.team.barrier();
  const bool small = is_small(handle);
  // All ranks note that the calls are over before any gives its segments back.
  handle.file->opens().remove(handle.open);
  // What went straight to the file: its errors are those of the close, which nobody could be told later.
  Status status = may_lag(handle) ? handle.file->flush() : Status();
  if (may_lag(handle) && all_lag(handle, small, status.ok())) {
    handle.file->closing().release_later();
    note_size(handle, false);
    return MPI_SUCCESS;
  }
  const bool deleted = (handle.amode & MPI_MODE_DELETE_ON_CLOSE) != 0 && handle.team.all(dies_with(handle));
  if (deleted) {
    status = handle.file->changes().discard();
  } else if (handle.can_write()) {
    if (const Status drained = handle.file->drain(); !drained.ok()) status = drained;
    if (status.ok()) status = handle.file->flush();
  }
  // Said before the barrier, which a rank that is the reason for it may never come to.
  if (!status.ok() && handle.file->reach().spans_nodes())
    complain_once(handle.file->closing().kept_in_log(status).message());
  handle.team.barrier();
  const Status released = handle.file->closing().release(leave_to_rest(handle, status.ok() && !deleted));
  // Of the two, that which names the place of the log. An error that the last drain has made good is none any
  // more.
  if (!released.ok()) status = released;
  int64_t told[] = {error_class(status), small ? 0 : 1};
  const bool reached = handle.team.largest(told);
  if (!status.ok()) complain_once(status.message());
  note_size(handle, reached && told[1] == 0);
  return reached || told[0] != MPI_SUCCESS ? static_cast<int>(told[0]) : MPI_ERR_IO;
}

}  // namespace

int close_log(Handle& handle) {
  const auto begin = monotonic_ns();
  forget_logged(handle);
  const int code = drain_for_close(handle);
  // Another rank may have made its file.
  if (handle.rank == 0 && handle.shared && (handle.ranks > 1 || handle.shared->used()))
    handle.shared->remove();
  handle.file.reset();
  count(Process::instance().joined()->counters().close_ns, monotonic_ns() - begin);
  return code;
}

}  // namespace pmio
