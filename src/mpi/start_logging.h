// Whether a handle logs, or goes straight to its file, or is handed on.
#pragma once

#include "mpi/handle.h"
#include "mpi/opening.h"

namespace pmio {

// Collective over the ranks of the open, after the MPI library's open. Sets what the handle needs to log, or
// to go straight to the file. Else leaves it to be handed on. Says why not, if the user can do something
// about it. opened: whether the library has given this rank a handle. A rank without one comes too: the
// others cannot know of it, and no handle logs if one of them is missing.
void start_logging(Handle& handle, Opening& ranks, bool opened);

// Whether the close of a file whose ranks are all on this node need not wait, as far as this rank has a say.
bool closes_in_background(const Handle& handle);

// Before anybody writes the file that path leads to: brings in what a dead job has left of it in that log
// directory. Says what is in a running job's log.
Status bring_in_pending(const std::string& log_directory, const FileIdentity& identity,
                        const std::string& path);

}  // namespace pmio
