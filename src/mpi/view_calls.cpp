// File views, atomicity and info.
#include <cstring>

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/gathering.h"
#include "mpi/info.h"
#include "mpi/next_functions.h"
#include "mpi/process.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// All ranks must call, since the library's set_view is collective. It may still refuse the view, on this rank
// or on all.
Outcome leave_to_library(Handle& handle, const char* reason) {
  if (const int code = step_aside(handle, reason); code != MPI_SUCCESS) return code;
  return std::nullopt;
}

constexpr char kAtomicMode[] = "atomic mode";

// Collective.
Outcome end_atomic_mode(Handle& handle) {
  const int code = after_library_call(handle, next_functions.File_set_atomicity.next()(handle.real, 0));
  const int worst = handle.team.worst(code == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER);
  return worst == MPI_SUCCESS ? raise_code(handle, step_back(handle)) : code;
}

// Of a handle that may come back from the library.
void note_view_aside(Handle& handle, MPI_Info info) {
  handle.viewed_aside = true;
  if (info == MPI_INFO_NULL) return;
  read_info(info, handle.rank == 0, &handle.hints.change());
  (void)news_for_library(info, &handle.library_hints);
}

// The library has an error for such a view.
bool is_wrong(MPI_Datatype etype, MPI_Datatype filetype, const char* datarep) {
  return etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL || datarep == nullptr;
}

// Open MPI reads a view's hints when it sets the view, which is when the handle is handed on. MPICH keeps
// them, and its MPI_File_set_info does with them what its MPI_File_set_view would.
#ifdef OPEN_MPI
constexpr bool kLibraryKeepsHintsOfViews = false;
#else
constexpr bool kLibraryKeepsHintsOfViews = true;
#endif

// What holds for any rank of a set_view, the same on all.
struct AnyRank {
  bool has_new_hints;  // for the library. Few set_views have any.
  bool leaves_view;    // to the library
  GatherWish gathers;
  bool against_gathering;
};

// Collective. leaves_view, gathers: of this rank.
AnyRank agree_on_view(Handle& handle, MPI_Info info, bool leaves_view, GatherWish gathers) {
  bool news = false;
  if (info != MPI_INFO_NULL) {
    read_info(info, handle.rank == 0, &handle.hints.change());
    news = !news_for_library(info, &handle.library_hints).empty() && kLibraryKeepsHintsOfViews;
  }
  // MPI does not make all ranks meet here, but its libraries do, and programs count on it. HDF5 does between
  // its read of the table of free space and one rank's write of it.
  int64_t any[] = {news ? 1 : 0, leaves_view ? 1 : 0, static_cast<int64_t>(gathers),
                   is_against_gathering(handle) ? 1 : 0};
  (void)handle.team.largest(any);
  return {any[0] != 0, any[1] != 0, static_cast<GatherWish>(any[2]), any[3] != 0};
}

// Collective: the library gets the view's hints, but not the view. Each rank hands on all its hints, not the
// new ones alone: MPICH compares some of them between the ranks that give them.
int hand_hints_on(Handle& handle, MPI_Info info) {
  GivenInfo given(info);
  (void)given.make_own();  // MPICH takes no MPI_INFO_NULL here
  return next_functions.File_set_info.next()(handle.real, given.get());
}

}  // namespace

Outcome file_set_view(Handle& handle, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                      const char* datarep, MPI_Info info) {
  decide(handle);
  if (handle.until_not_atomic) note_view_aside(handle, info);
  if (handle.in_library()) return std::nullopt;
  Result<FileView> view = is_wrong(etype, filetype, datarep) ? Result<FileView>(Status(Code::invalid, ""))
                                                             : FileView::make(disp, etype, filetype, datarep);
  const bool leaves_view = view.ok() ? !suits_log(handle, *view) : view.status().code() == Code::unsupported;
  // Before anything that fails on one rank only.
  const bool may_gather = view.ok() && !leaves_view;
  const AnyRank any =
      agree_on_view(handle, info, leaves_view, may_gather ? wish_to_gather(handle, *view) : GatherWish::none);
  choose_gathering(handle, any.gathers, any.against_gathering);
  if (any.has_new_hints)
    if (const int code = hand_hints_on(handle, info); code != MPI_SUCCESS) return code;
  if (handle.shared_in_library) {
    const int code = next_functions.File_set_view.next()(handle.real, disp, etype, filetype, datarep, info);
    if (code != MPI_SUCCESS) return code;
  }
  if (is_wrong(etype, filetype, datarep)) return std::nullopt;
  // Not left to the library: Open MPI would take it.
  if (disp < 0) return raise_code(handle, MPI_ERR_ARG);
  if (any.leaves_view)
    return leave_to_library(handle, view.ok() ? "a view that overlaps itself" : "data representation");
  if (!view.ok()) return raise_code(handle, error_class(view.status()));
  HeldType held_etype(etype), held_filetype(filetype);
  handle.view = std::move(view.value());
  handle.etype = std::move(held_etype);
  handle.filetype = std::move(held_filetype);
  handle.position = 0;
  handle.shared_start = 0;
  ++handle.view_epoch;
  return MPI_SUCCESS;
}

Outcome file_get_view(Handle& handle, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                      char* datarep) {
  if (datarep == nullptr) return std::nullopt;
  *disp = handle.view.displacement;
  *etype = handle.etype.copy();
  *filetype = handle.filetype.copy();
  std::strcpy(datarep, "native");
  return MPI_SUCCESS;
}

Outcome file_set_atomicity(Handle& handle, int flag) {
  // Atomic mode is left to the library: its locks must see every access.
  if (handle.in_library() && !handle.until_not_atomic) {
    if (flag != 0 && handle.against.empty()) handle.against = kAtomicMode;
    if (flag == 0 && handle.against == kAtomicMode) handle.against.clear();
    return std::nullopt;
  }
  // Ranks with different flags must not wait for each other in different places.
  int64_t most[] = {flag != 0 ? 1 : 0, flag != 0 ? 0 : 1};
  (void)handle.team.largest(most);
  if (most[0] != 0 && most[1] != 0) return raise_code(handle, MPI_ERR_ARG);
  if (flag == 0) return handle.until_not_atomic ? end_atomic_mode(handle) : std::nullopt;
  if (handle.until_not_atomic) return std::nullopt;
  const bool logs = handle.file != nullptr && !handle.straight && !handle.buffered;
  Outcome outcome = leave_to_library(handle, kAtomicMode);
  handle.until_not_atomic = logs && handle.in_library();
  handle.was_aside = handle.was_aside || handle.until_not_atomic;
  handle.viewed_aside = false;
  return outcome;
}

Outcome file_set_info(Handle& handle, MPI_Info info) {
  // No hint of pmio's can change on an open file, but it complains about a bad one.
  if (info == MPI_INFO_NULL) return std::nullopt;
  read_info(info, handle.rank == 0, &handle.hints.change());
  (void)news_for_library(info, &handle.library_hints);
  return std::nullopt;
}

Outcome file_get_info(Handle& handle, MPI_Info* info_used) {
  const int code = next_functions.File_get_info.next()(handle.real, info_used);
  if (code != MPI_SUCCESS) return code;
  for (const auto& [key, value] : hints_in_force(handle)) set_in(*info_used, key, value);
  return code;
}

}  // namespace pmio
