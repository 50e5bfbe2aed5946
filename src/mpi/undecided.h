// Files that are expected to be small: the log gives them nothing, and to open it for each costs more than
// the file (docs/decisions/0021-many-small-files.md). A file that one rank opens alone is expected to be
// small unless the last of that kind was not. A file of several ranks is, if the last ones of the same ranks
// were, or if those that are open are small and many. Such a handle has undecided_engine at first, which
// hands its calls on. It is decided whether it logs when it has had more than a few calls, or one that is
// better not left to the library.
//
// Of files that one rank opens alone; and of those that all ranks of the job, or of a group on several nodes,
// open together. The ranks of the latter agree at the open. They decide later without a message, by what they
// have counted alike. So they need collective calls, and of a file that is only written independently they
// never learn that it is large. Therefore what was written independently is not called small, and one file of
// so many is opened to be logged at once.
//
// Threads: not used where threads may be in MPI at the same time.
#pragma once

#include "mpi/calls.h"
#include "mpi/handle.h"
#include "mpi/opening.h"

namespace pmio {

// Before the library's open, collective, the same on all ranks: whether the handle's file is expected to be
// small. Then what a dead job has left of it is in the file.
bool begin_undecided(Handle& handle, Opening& ranks, const char* filename);

// Collective, behind the library's open of such a handle, and whether it has succeeded on this rank.
void go_on_undecided(Handle& handle, const Opening& ranks, bool opened);

// All ranks of the handle are in a call. Nothing where it has been decided.
void decide(Handle& handle);

// A handle has begun to log, and is about to be closed.
void note_logged(const Handle& handle);
void forget_logged(const Handle& handle);

// When a handle is closed that has been decided: whether all its ranks have found the file small.
void note_size(const Handle& handle, bool small);
// As far as this rank knows.
bool is_small(const Handle& handle);

}  // namespace pmio
