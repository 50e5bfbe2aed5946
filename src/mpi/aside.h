// Between the log and the MPI library: how a handle that logs comes to be handed on, and back. And how a
// handle that is handed on sees what others have logged to its file.
#pragma once

#include "mpi/calls.h"
#include "mpi/handle.h"

namespace pmio {

// Collective. Drains the log, gives the library's handle the view and the pointers of this one, and hands the
// handle on from now on. reason: a few words for the statistics; null: none. On an error, which is the same
// on all ranks, the handle logs as before; the error has been through the error handler.
int step_aside(Handle& handle, const char* reason);

// Whether a handle may log through the view. With one rank, the library serves the tiles of some views that
// pmio's would leave out.
inline bool suits_log(const Handle& handle, const FileView& view) {
  return handle.ranks > 1 || view.filetype->monotonic;
}

// Collective. Atomic mode is off again, for which the handle had stepped aside: it logs from now on, with the
// view and the pointers that the library has. It stays handed on, on all ranks, if a rank cannot: of a view
// that pmio hands on, or on several nodes if nonblocking calls may be under way, or other
// handles have the file.
//
// Returns MPI's code, which has not been through the error handler: what the library has written may not be
// where the log would be. Then it stays handed on, too.
int step_back(Handle& handle);

// Collective: on return the file holds all that the handle's ranks have written, and no rank has begun a
// later call. Returns MPI's code. If one rank fails, all do, each with its own class where it has one. Errors
// have been through the error handler.
int drain_together(Handle& handle);

// Before a call on a handle that does not log goes to the library. Drains what other handles have logged to
// the file. So the call sees it, and nothing older is written over what the call writes. will_write: bytes
// that were drained earlier are not served from the log any more. Local. It looks for a log only if some rank
// has begun to log to some file since it last looked.
//
// A drain that fails has been through the error handler. A call of this rank alone must return that error in
// the place of the library's. A collective call goes on, and Handle::undrained_error keeps the error.
Outcome drain_before_library_call(Handle& handle, bool will_write, bool collective);

// The same before a call of a handle that goes straight to the file.
Status drain_before_straight_call(Handle& handle, bool will_write);

// Collective: drain_before_straight_call of all ranks, before one that writes. As drain_together.
int drain_together_before_straight_call(Handle& handle);

// Collective: the library syncs its handle. The program's error handler learns nothing of it. MPI's code. All
// ranks have no nonblocking call under way (library_may_write_later).
int sync_in_library(Handle& handle);

// The size of the file of a handle that does not log has been set. What ranks have logged meanwhile may have
// been drained and truncated. Local.
void note_truncation(Handle& handle);

// The file of a handle that does not log, if some rank has logged to it; else null.
std::shared_ptr<File> logged_file(Handle& handle);

}  // namespace pmio
