// Which runtime library fits a program: the one that was built against the MPI library that the program will
// load.
//
// In this order: the very same library file; then the same family (handles and constants laid out alike), the
// nearest version. A program that links no MPI (an interpreter, a shell script, a wrapper such as `env` or
// `numactl`) is judged by the launcher that started it: its environment tells the family, the executables of
// the parent processes which of several installations. Threads: none of this is shared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "run_loader.h"
#include "run_runtimes.h"

namespace pmio::cli {

struct MpiLibrary {
  std::string path;    // links resolved
  std::string family;  // as in Runtime
};

// The first MPI library among the loaded ones.
std::optional<MpiLibrary> find_mpi(const std::vector<LoadedLibrary>& libraries);

struct Launcher {
  std::string family;                  // empty: not started by an MPI launcher that we know
  int major = 0;                       // of the MPI, 0 where it does not show
  std::vector<std::string> ancestors;  // executables of the parent processes, nearest first
};
Launcher find_launcher();

// Of those that are present. invalid: none fits, or several may and nothing tells; the message says which
// were built.
Result<Runtime> choose_by_library(const std::vector<Runtime>& runtimes, const MpiLibrary& mpi);
Result<Runtime> choose_by_launcher(const std::vector<Runtime>& runtimes, const Launcher& launcher);

// For a program found by find_program.
Result<Runtime> choose_runtime(const std::vector<Runtime>& runtimes, const std::string& program);

}  // namespace pmio::cli
