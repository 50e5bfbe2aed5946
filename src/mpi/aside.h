// Stepping aside: how a handle that logged becomes one that is handed on, and how handles that are handed on
// get along with handles on the same file that log.
#pragma once

#include "mpi/calls.h"
#include "mpi/handle.h"

namespace pmio {

// Collective: drains, gives the library's handle the view and the pointers of this one, and hands on from now
// on. reason: in a few words, for the statistics; null: none. On an error, the same on all ranks, the handle
// logs as before; the error has been through the error handler.
int step_aside(Handle& handle, const char* reason);

// Collective: on return the file holds all that the handle's ranks have written, and no rank is inside a
// later call. MPI's code, the same on all ranks but for its class; errors have been through the error
// handler.
int drain_together(Handle& handle);

// Before a call on a handle that does not log goes to the library: what other handles have logged to the file
// is drained, so that the call sees it, and nothing older overwrites what it writes. will_write: bytes that
// were drained earlier are not served from the log any more. Local; a look-up only where some rank has begun
// to log to some file since the last one. What cannot be drained is an error, which has been through the
// error handler: a call of this rank alone must return it in the place of the library's; a collective one
// goes on, and Handle::unsettled has the error.
Answer settle(Handle& handle, bool will_write, bool collective);

// The file of a handle that does not log, where some rank has logged to it.
std::shared_ptr<File> logged_file(Handle& handle);

}  // namespace pmio
