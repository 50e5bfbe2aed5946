// File views, atomicity and info.
#include <cstring>

#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/info.h"
#include "mpi/next_functions.h"
#include "mpi/process.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// All ranks must call, since the library's set_view is collective; it may still refuse the view, on this rank
// or on all.
Outcome leave_to_library(Handle& handle, const char* reason) {
  if (const int code = step_aside(handle, reason); code != MPI_SUCCESS) return code;
  return std::nullopt;
}

// What no view may be: the library has an error for it.
bool is_wrong(MPI_Datatype etype, MPI_Datatype filetype, const char* datarep) {
  return etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL || datarep == nullptr;
}

// Open MPI reads the hints of a view when it sets it, which is when the handle is handed on; MPICH keeps
// them, and its MPI_File_set_info does with them what its MPI_File_set_view would.
#ifdef OPEN_MPI
constexpr bool kLibraryKeepsHintsOfViews = false;
#else
constexpr bool kLibraryKeepsHintsOfViews = true;
#endif

// Collective: the library's hints in info go to it, without the view. Few set_views have any that are new.
// *leave: whether this rank's view has to be left to the library; then any rank's.
int hand_hints_on(Handle& handle, MPI_Info info, bool* leave) {
  int any = 0;
  if (info != MPI_INFO_NULL) {
    read_info(info, handle.rank == 0, &handle.hints);
    any = !news_for_library(info, &handle.library_hints).empty() && kLibraryKeepsHintsOfViews;
  }
  // MPI does not ask all ranks to meet here, but its libraries do, and programs count on it: HDF5, between
  // reading its table of free space and one rank's writing it.
  int64_t found[] = {any, *leave ? 1 : 0};
  (void)handle.team.largest(found);
  *leave = found[1] != 0;
  if (found[0] == 0) return MPI_SUCCESS;
  // All that each rank says, not the news alone: MPICH compares some hints between the ranks that give them.
  GivenInfo given(info);
  (void)given.make_own();  // MPICH takes no MPI_INFO_NULL here
  return next_functions.File_set_info.next()(handle.real, given.get());
}

}  // namespace

Outcome file_set_view(Handle& handle, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                      const char* datarep, MPI_Info info) {
  decide(handle);
  if (handle.in_library()) return std::nullopt;
  Result<FileView> view = is_wrong(etype, filetype, datarep) ? Result<FileView>(Status(Code::invalid, ""))
                                                             : FileView::make(disp, etype, filetype, datarep);
  // Of one rank, the library has the tiles that the view leaves out.
  bool leave =
      view.ok() ? handle.ranks == 1 && !view->filetype->monotonic : view.status().code() == Code::unsupported;
  // Before anything that fails on one rank only.
  if (const int code = hand_hints_on(handle, info, &leave); code != MPI_SUCCESS) return code;
  if (is_wrong(etype, filetype, datarep)) return std::nullopt;
  // Not left to the library: Open MPI would take it.
  if (disp < 0) return raise_code(handle, MPI_ERR_ARG);
  if (leave)
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
  // Atomic mode is the library's: its locks must see every access.
  if (handle.in_library()) {
    if (flag != 0) handle.against = "atomic mode";
    return std::nullopt;
  }
  // Ranks that differ must not wait for each other in different places.
  int64_t most[] = {flag != 0 ? 1 : 0, flag != 0 ? 0 : 1};
  (void)handle.team.largest(most);
  if (most[0] != 0 && most[1] != 0) return raise_code(handle, MPI_ERR_ARG);
  return flag != 0 ? leave_to_library(handle, "atomic mode") : std::nullopt;
}

Outcome file_set_info(Handle& handle, MPI_Info info) {
  // No hint of pmio's can change on an open file, but a bad one is said.
  if (info == MPI_INFO_NULL) return std::nullopt;
  read_info(info, handle.rank == 0, &handle.hints);
  (void)news_for_library(info, &handle.library_hints);
  return std::nullopt;
}

Outcome file_get_info(Handle& handle, MPI_Info* info_used) {
  const int code = next_functions.File_get_info.next()(handle.real, info_used);
  if (code != MPI_SUCCESS) return code;
  const Hints hints = Process::instance().job_hints();
  for (const auto& [key, value] : hints_in_force(hints, !handle.in_library(), hints.directory))
    set_in(*info_used, key, value);
  return code;
}

}  // namespace pmio
