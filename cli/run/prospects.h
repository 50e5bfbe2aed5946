// What shows of a program before it starts: whether pmio can take it over, and what must be preloaded first.
//
// Which runtime library fits is found out in the process itself, by libpmio.so (src/preload/takeover.h). Of a
// shell, of Python and of other programs that link no MPI library nothing shows. Threads: none of this is
// shared.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/run/loader.h"
#include "cli/run/runtimes.h"

namespace pmio::cli {

struct Prospects {
  Status obstacle;        // not ok: pmio cannot take it over; why, and what to do
  std::string sanitizer;  // the runtime of its sanitizer, which must be first in LD_PRELOAD; empty: none
  std::string mpi;        // the MPI library that it links; empty: none shows
  std::vector<LoadedLibrary> libraries;
};

// Of a program found by find_program.
Prospects look_at_program(const std::vector<Runtime>& runtimes, const std::string& program);

// The runtime of the sanitizer that a program or library was built with, if that is a library; else empty.
std::string sanitizer_of(const std::string& path, const std::string& loader);

}  // namespace pmio::cli
