// Whether a handle logs.
#pragma once

#include "mpi/handle.h"

namespace pmio {

// Collective over the communicator of the open, after the MPI library's: sets what the handle needs to log,
// or leaves it to be handed on. Says why, where the user can do something about it. opened: whether the
// library has given this rank a handle. Ranks that have none come too: the others cannot know of it, and no
// handle logs where one of them is missing.
void start_logging(Handle& handle, MPI_Comm comm, bool opened);

// Before anybody writes the file that path leads to: what a dead job has left of it. Says what is in a
// running one's log.
Status bring_in_pending(const Job& job, const FileIdentity& identity, const std::string& path);

}  // namespace pmio
