#include "mpi/aside.h"

#include <utility>

#include "base/clock.h"
#include "mpi/errors.h"
#include "mpi/gathering.h"
#include "mpi/library_engine.h"
#include "mpi/next_functions.h"
#include "mpi/pointers.h"
#include "mpi/process.h"

namespace pmio {
namespace {

// Collective.
int set_library_pointers(Handle& handle) {
  if (handle.shared_in_library)
    return next_functions.File_seek.next()(handle.real, handle.position, MPI_SEEK_SET);
  int64_t shared = 0;
  if (handle.rank == 0) {
    const Result<int64_t> value = shared_fetch_add(handle, 0);
    if (value.ok()) shared = value.value();
  }
  shared = handle.team.from(0, shared);
  if (shared != 0) handle.uses_shared.store(true, std::memory_order_relaxed);
  const int code = next_functions.File_seek.next()(handle.real, handle.position, MPI_SEEK_SET);
  // Not set if it has not moved: the library makes a file of its own for its shared pointer.
  if (code != MPI_SUCCESS || shared == 0) return code;
  return next_functions.File_seek_shared.next()(handle.real, shared, MPI_SEEK_SET);
}

// Held around calls that pmio itself makes on the library's handle. The program's error handler learns
// nothing of them, and cannot turn their failure into a success.
class OwnCalls {
 public:
  explicit OwnCalls(MPI_File file) : file_(file) {
    mpi().File_get_errhandler(file_, &handler_);
    mpi().File_set_errhandler(file_, MPI_ERRORS_RETURN);
  }
  ~OwnCalls() {
    mpi().File_set_errhandler(file_, handler_);
    mpi().Errhandler_free(&handler_);
  }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

 private:
  MPI_File file_;
  MPI_Errhandler handler_{};
};

// Collective: gives the library's handle the view and the pointers of one that logs.
int set_library_view(Handle& handle) {
  const OwnCalls own(handle.real);
  if (handle.shared_in_library) return set_library_pointers(handle);  // it has the view
  GivenInfo given(MPI_INFO_NULL);
  for (const auto& [key, value] : handle.library_hints) given.set(key, value);
  const int code =
      next_functions.File_set_view.next()(handle.real, handle.view.displacement, handle.etype.get(),
                                          handle.filetype.get(), "native", given.get());
  return code == MPI_SUCCESS ? set_library_pointers(handle) : code;
}

// Where this rank is in a handle that the library has.
struct PlaceInView {
  std::optional<FileView> view;  // nothing: the handle's own
  HeldType etype, filetype;
  MPI_Offset position = 0;
};

// What several nodes know of the file would be old if somebody writes it meanwhile. On one node all see it as
// it is.
bool may_be_written_meanwhile(const Handle& handle) {
  return handle.file->reach().spans_nodes() &&
         (library_may_write_later() || handle.file->usage().has_other_handles() ||
          others_handed_on(handle, handle.file->identity()));
}

// False: it is none that pmio takes.
bool take_view(const Handle& handle, PlaceInView* place) {
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
  char datarep[MPI_MAX_DATAREP_STRING + 1] = "";
  if (next_functions.File_get_view.next()(handle.real, &displacement, &etype, &filetype, datarep) !=
      MPI_SUCCESS)
    return false;
  place->etype = HeldType::taken(etype);
  place->filetype = HeldType::taken(filetype);
  Result<FileView> view = FileView::make(displacement, etype, filetype, datarep);
  if (!view.ok() || !suits_log(handle, *view)) return false;
  place->view = std::move(view).value();
  return true;
}

// Nothing, if pmio could not go on from there.
std::optional<PlaceInView> place_in_library(const Handle& handle) {
  std::optional<PlaceInView> place(std::in_place);
  if (handle.split_in_library || may_be_written_meanwhile(handle)) return {};
  if (handle.viewed_aside && !take_view(handle, &*place)) return {};
  if (next_functions.File_get_position.next()(handle.real, &place->position) != MPI_SUCCESS) return {};
  return place;
}

// Collective: the library's shared pointer; nothing, on all ranks, if it cannot be told.
std::optional<int64_t> shared_in_library(Handle& handle, bool is_used) {
  if (!is_used) return 0;  // the library would make a file for it
  MPI_Offset value = -1;
  if (handle.rank == 0 && next_functions.File_get_position_shared.next()(handle.real, &value) != MPI_SUCCESS)
    value = -1;
  const int64_t told = handle.team.from(0, value);
  return told < 0 ? std::nullopt : std::optional(told);
}

// What the library has written is where the log would be, and on several nodes each node's client of the file
// system shows it. MPI's code.
int settle_in_library(Handle& handle) {
  if (!handle.can_write()) return MPI_SUCCESS;
  if (handle.file->reach().spans_nodes()) return sync_in_library(handle);
  const Medium& medium = Process::instance().joined()->medium();
  const bool outlives = outlives_power(medium.kind(), medium.durability());
  return outlives ? error_class(handle.file->changes().sync()) : MPI_SUCCESS;
}

// Collective, when the library has done all that was asked of it, and the file systems' clients know of it:
// what this node knows of the file is old. False, on all ranks: its size cannot be told.
bool know_file_again(Handle& handle) {
  Result<uint64_t> size = handle.file->target().size_bytes(true);
  int64_t all[] = {size.ok() ? static_cast<int64_t>(*size) : 0, size.ok() ? 0 : 1};
  if (!handle.team.largest(all) || all[1] != 0) return false;
  handle.file->changes().invalidate_cache();
  if (handle.file->reach().spans_nodes())
    handle.file->changes().set_known_size(static_cast<uint64_t>(all[0]));
  return true;
}

// The file of a handle that never logged, if other handles of the job's ranks have logged to it; else null.
std::shared_ptr<File> logged_by_others(Handle& handle) {
  Process& process = Process::instance();
  if (process.nothing_is_logged()) return nullptr;
  // Read before the look-up: a log that begins during the look-up raises the count again.
  const std::optional<uint64_t> now = process.files_logged();
  const bool known = now && *now == handle.unlogged_at.load(std::memory_order_relaxed);
  if (known && !process.spans_nodes()) return nullptr;
  Job* job = handle.identity ? process.joined_or_wanted(*handle.hints) : nullptr;
  if (job == nullptr) return nullptr;
  // A rank of another node does not count here. What it logs, this rank has open, or has just closed; or it
  // is contested.
  if (known) return job->find_here(*handle.identity);
  Result<std::shared_ptr<File>> file = job->find(*handle.identity, handle.path);
  if (!file.ok()) {
    complain_once(file.status().message());
    return nullptr;
  }
  if (file.value() && file.value()->usage().ever_logged()) return std::move(file).value();
  if (now) handle.unlogged_at.store(*now, std::memory_order_relaxed);
  return nullptr;
}

struct Drained {
  Status here;
  int worst;  // error class, the same on all ranks
};

// Collective: nobody drains before everybody has come, and nobody returns before everybody has drained.
template <class Drain>
Drained drain_all_ranks(Handle& handle, const Drain& drain) {
  handle.team.barrier();
  Status here = drain();
  const int worst = handle.team.worst(error_class(here));
  return {std::move(here), worst};
}

Drained drain_all_ranks(Handle& handle) {
  return drain_all_ranks(handle, [&handle] { return handle.engine().drain(handle); });
}

int raise_for_all(Handle& handle, const Drained& drained) {
  if (!drained.here.ok()) return raise_error(handle, drained.here);
  return raise_code(handle, drained.worst);
}

}  // namespace

std::shared_ptr<File> logged_file(Handle& handle) {
  std::shared_ptr<File> file = handle.file ? handle.file : logged_by_others(handle);
  return file && file->usage().ever_logged() ? file : nullptr;
}

int step_aside(Handle& handle, const char* reason) {
  const uint64_t begin = monotonic_ns();
  const Drained drained = drain_all_ranks(handle);
  if (drained.worst != MPI_SUCCESS) {
    if (!drained.here.ok()) complain_once(drained.here.message());
    return raise_code(handle, drained.worst);
  }
  const int code = set_library_view(handle);
  if (handle.file) handle.file->changes().forget_cache();
  handle.set_engine(library_engine());
  if (reason != nullptr) Process::instance().note_file(handle.path, reason);
  if (Job* job = Process::instance().joined()) count(job->counters().close_ns, monotonic_ns() - begin);
  return raise_code(handle, code);
}

int step_back(Handle& handle) {
  const OwnCalls own(handle.real);
  std::optional<PlaceInView> place = place_in_library(handle);
  const FileView& view = place && place->view ? *place->view : handle.view;
  int64_t any[] = {place ? 0 : 1, handle.uses_shared.load(std::memory_order_relaxed) ? 1 : 0,
                   place ? static_cast<int64_t>(wish_to_gather(handle, view)) : 0,
                   is_against_gathering(handle) ? 1 : 0};
  if (!handle.team.largest(any) || any[0] != 0) return MPI_SUCCESS;
  const int settled = handle.team.worst(settle_in_library(handle));
  if (settled != MPI_SUCCESS) return settled;
  const std::optional<int64_t> shared = shared_in_library(handle, any[1] != 0);
  if (!shared || !know_file_again(handle)) return MPI_SUCCESS;
  if (place->view) {
    handle.view = std::move(*place->view);
    handle.etype = std::move(place->etype);
    handle.filetype = std::move(place->filetype);
  }
  handle.position = place->position;
  handle.shared_start = *shared;
  ++handle.view_epoch;
  handle.until_not_atomic = false;
  handle.set_engine(log_engine());
  choose_gathering(handle, static_cast<GatherWish>(any[2]), any[3] != 0);
  return MPI_SUCCESS;
}

int drain_together(Handle& handle) { return raise_for_all(handle, drain_all_ranks(handle)); }

int drain_together_before_straight_call(Handle& handle) {
  return raise_for_all(
      handle, drain_all_ranks(handle, [&handle] { return drain_before_straight_call(handle, true); }));
}

void note_truncation(Handle& handle) {
  const std::shared_ptr<File> file = logged_file(handle);
  if (!file) return;
  file->changes().truncated();
  file->changes().forget_cache();
}

Status drain_before_straight_call(Handle& handle, bool will_write) {
  const std::shared_ptr<File> file = logged_file(handle);
  if (!file) return {};
  Status drained = file->drain(will_write ? DrainScope::for_library_write : DrainScope::for_library);
  if (will_write) file->changes().forget_cache();
  return drained;
}

int sync_in_library(Handle& handle) {
  const OwnCalls own(handle.real);
  return next_functions.File_sync.next()(handle.real);
}

Outcome drain_before_library_call(Handle& handle, bool will_write, bool collective) {
  if (Job* job = Process::instance().joined()) count(job->counters().handed_on_calls);
  const Status drained = drain_before_straight_call(handle, will_write);
  if (!drained.ok()) {
    const int code = raise_error(handle, drained);
    if (!collective) return code;
    handle.undrained_error = code;
  }
  return std::nullopt;
}

}  // namespace pmio
