#include "cli/run/mpi_program.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/run/first_rank.h"
#include "cli/run/loader.h"
#include "cli/run/runtimes.h"
#include "preload/names.h"

namespace pmio::cli {
namespace {

namespace fs = std::filesystem;

// One message for a job, which ends then.
void say(const std::string& message) {
  if (!pmio_is_first_rank()) return let_first_rank_tell();
  std::fprintf(stderr, "pmio: %s\n", message.c_str());
}

std::string path_of(const MpiProgram& program, const Runtime& runtime) {
  const std::string name = std::string("pmio-") + program.name + "-" + runtime.tag;
  return (fs::path(runtime.path).parent_path() / name).string();
}

// The directory of the MPI whose mpiexec is the first in PATH.
std::string prefix_in_path() {
  bool denied = false;
  std::error_code error;
  const fs::path launcher = fs::canonical(find_program("mpiexec", &denied), error);
  return error ? std::string() : launcher.parent_path().parent_path().string();
}

// Of those that are built: by the name that was given, or else by the launcher, and then by PATH. The newest
// of several.
const Runtime* choose_built(const std::vector<Runtime>& runtimes, const MpiProgram& program) {
  const std::string& tag = program.tag;
  const std::string family = tag.empty() ? launchers_family() : "";
  const std::string prefix = prefix_in_path();
  const Runtime* chosen = nullptr;
  for (const Runtime& runtime : runtimes) {
    if (access(path_of(program, runtime).c_str(), X_OK) != 0) continue;
    if (!tag.empty() && runtime.tag != tag) continue;
    if (!family.empty() && runtime.family != family) continue;
    if (chosen != nullptr && chosen->prefix == prefix && runtime.prefix != prefix) continue;
    chosen = &runtime;
  }
  return chosen;
}

}  // namespace

std::string launchers_family() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_UNIVERSE_SIZE"})
    if (getenv(name) != nullptr) return "openmpi";
  for (const char* name : {"PMI_RANK", "PMI_FD", "HYDI_CONTROL_FD"})
    if (getenv(name) != nullptr) return "mpich";
  return {};
}

std::string find_mpi_program(const MpiProgram& program) {
  const auto runtimes = load_runtimes();
  if (!runtimes.ok()) {
    say(runtimes.status().message());
    return {};
  }
  if (const Runtime* runtime = choose_built(runtimes.value(), program)) return path_of(program, *runtime);
  const std::string name = program.name;
  const fs::path source = fs::path(executable_directory()) / PMIO_DATA_FROM_COMMAND / (name + ".c");
  say("the program for this MPI is not built; build it by its compiler, and name it:\n  mpicc -O2 " +
      source.lexically_normal().string() + " -o " + name + " -ldl\n  mpiexec -n 4 pmio " + program.command +
      " --program ./" + name);
  return {};
}

}  // namespace pmio::cli
