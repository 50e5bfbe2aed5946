// The runtime libraries that stand beside this pmio command, one per MPI it was built for.
//
// They are described by pmio-mpi.json in the library directory, which CMake writes when it configures
// (cmake/PmioMpiMap.cmake): a list of {tag, family, version, library, prefix, runtime}. The library directory
// is found relative to this executable, so that a build tree and an installed prefix work alike. Threads:
// none of this is shared.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace pmio::cli {

struct Runtime {
  std::string tag;       // "mpich-4.0.2", part of the file's name
  std::string family;    // "mpich", "openmpi" or "abi": the layout of handles and constants
  std::string version;   // of the MPI library, "4.0.2"
  std::string library;   // the MPI library's file, symbolic links resolved
  std::string prefix;    // where that MPI is installed
  std::string path;      // the runtime library's file
  bool present = false;  // it has been built
};

// The directory of this executable; empty if /proc is not there.
std::string executable_directory();

// libpmio.so of the same directory as the runtimes; empty: it is not there.
std::string preloaded_library();

// All runtimes of pmio-mpi.json, built or not. io or corrupt: the file cannot be read.
Result<std::vector<Runtime>> load_runtimes();

// "mpich-4.0.2, openmpi-4.1.4", the ones that are present; "none" if there is none.
std::string list_tags(const std::vector<Runtime>& runtimes);

}  // namespace pmio::cli
