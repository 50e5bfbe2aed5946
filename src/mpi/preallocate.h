// Room for a file's first bytes, never by the MPI library if pmio can make it. Libraries read what is there
// and write it again. That would go over what another handle drains, or what another node has just written
// and this one does not see yet.
#pragma once

#include "mpi/handle.h"

namespace pmio {

// The library has an error for it.
bool is_wrong_preallocation(const Handle& handle, MPI_Offset size);

// What came of it, the same on all ranks but for the error's class.
struct Room {
  Outcome outcome;    // nothing: the library must make it, as pmio cannot
  bool made = false;  // or it was tried
  uint64_t end = 0;   // of the file before, as the furthest rank sees it
};

// Collective, after a drain: makes room by the first rank.
Room make_room(Handle& handle, uint64_t bytes);

}  // namespace pmio
