// What the dynamic loader would load for a program. The program's own loader is asked. So RUNPATH,
// LD_LIBRARY_PATH, ld.so.conf and LD_PRELOAD count exactly as they will when the program starts. The program
// itself is never started. Threads: none of this is shared.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace pmio::cli {

enum class ProgramKind { dynamic, fixed, script, other };  // fixed: statically linked

struct ProgramFacts {
  ProgramKind kind = ProgramKind::other;
  std::string loader;       // dynamic: the path in PT_INTERP
  std::string interpreter;  // script: the first word after #!
};

// Reads the beginning of a file. io or access: it cannot be read; an execute-only program is `other` to us.
Result<ProgramFacts> program_facts(const std::string& path);

// Whether a program has an MPI library in itself, from a static one: it defines PMPI_File_open. Its symbols
// tell, and a stripped program has none.
bool contains_mpi(const std::string& path);

struct LoadedLibrary {
  std::string name;  // as asked for, usually the soname
  std::string path;  // symbolic links resolved; empty where the loader did not find it
};

// The shared libraries of a program or shared library, all levels. Runs `<loader> --list <path>`.
Result<std::vector<LoadedLibrary>> loaded_libraries(const std::string& path, const std::string& loader);

// The loader that this command itself was started by.
std::string own_loader();

// Looks a program up as a shell does: a name without a slash in PATH. Empty: not found.
// denied becomes true if something of that name was there, but not executable.
std::string find_program(const std::string& name, bool* denied);

}  // namespace pmio::cli
