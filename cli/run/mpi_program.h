// The programs of MPI beside this command, one for each MPI that it was built for, and how a process that a
// launcher has started finds that of its own.
#pragma once

#include <string>

namespace pmio::cli {

// Of the MPI whose launcher has started this process, "openmpi" or "mpich"; empty: that does not show.
std::string launchers_family();

struct MpiProgram {
  const char* name;     // "steps": the program is pmio-steps-<tag>, the source steps.c
  const char* command;  // that runs it: "bench steps"
  std::string tag;      // of an MPI; empty: it is found out by the launcher, and then by PATH
};

// Its path; empty: there is none, and how to make one has been said, once for a job.
std::string find_mpi_program(const MpiProgram& program);

}  // namespace pmio::cli
