#include "run_choose.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "mpi/family.h"

namespace pmio::cli {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

int first_number(const std::string& text) {
  const size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : atoi(text.c_str() + digit);
}

// Asks an MPI library for its major version; MPI allows this one call before MPI_Init. 0: it does not tell.
// The library stays loaded: this process is about to become the program, and unloading runs finalizers for
// nothing.
int major_version(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return 0;
  using GetVersion = int (*)(char*, int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(handle, "MPI_Get_library_version"));
  if (get_version == nullptr) return 0;
  constexpr size_t kLongestVersionString = 16384;  // MPICH's MPI_MAX_LIBRARY_VERSION_STRING is 8192
  std::string text(kLongestVersionString, '\0');
  int length = 0;
  return get_version(text.data(), &length) == 0 ? first_number(text) : 0;
}

std::vector<Runtime> present_of_family(const std::vector<Runtime>& runtimes, const std::string& family) {
  std::vector<Runtime> fitting;
  for (const Runtime& runtime : runtimes) {
    if (runtime.present && (family.empty() || runtime.family == family)) fitting.push_back(runtime);
  }
  return fitting;
}

// Intel counts years; nothing but its own library is near those.
int newness(const Runtime& runtime) {
  constexpr int kFirstYear = 2000;
  const int major = first_number(runtime.version);
  return major >= kFirstYear ? 0 : major;
}

// The nearest major version; among equals, and where the version is not known (0), the newest.
const Runtime& nearest(const std::vector<Runtime>& fitting, int major) {
  const auto distance = [major](const Runtime& runtime) {
    return major == 0 ? 0 : std::abs(first_number(runtime.version) - major);
  };
  return *std::min_element(fitting.begin(), fitting.end(), [&](const Runtime& a, const Runtime& b) {
    if (distance(a) != distance(b)) return distance(a) < distance(b);
    return newness(a) > newness(b);
  });
}

pid_t parent_of(pid_t process) {
  std::ifstream input("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with("PPid:")) return static_cast<pid_t>(first_number(line));
  }
  return 0;
}

bool inside(const std::string& path, const std::string& prefix) {
  return !prefix.empty() && path.starts_with(prefix.ends_with('/') ? prefix : prefix + "/");
}

const char* family_of_launcher_name(const std::string& name) {
  if (name.starts_with("hydra_pmi_proxy") || name == "mpiexec.hydra") return "mpich";
  for (const char* known : {"orterun", "orted", "prterun", "prted", "prte"}) {
    if (name == known) return "openmpi";
  }
  return "";
}

}  // namespace

std::optional<MpiLibrary> find_mpi(const std::vector<LoadedLibrary>& libraries) {
  for (const LoadedLibrary& library : libraries) {
    const char* family = family_of_library(library.name);
    if (!library.path.empty() && family != nullptr) return MpiLibrary{library.path, family};
  }
  return std::nullopt;
}

Launcher find_launcher() {
  Launcher launcher;
  if (getenv("OMPI_COMM_WORLD_RANK") != nullptr) {
    launcher.family = "openmpi";
    if (getenv("PRTE_LAUNCHED") != nullptr) launcher.major = 5;                // PRRTE came with Open MPI 5
    if (getenv("OMPI_MCA_orte_ess_num_procs") != nullptr) launcher.major = 4;  // and ORTE went
  } else if (getenv("PMI_RANK") != nullptr || getenv("PMI_FD") != nullptr) {
    launcher.family = "mpich";
  }
  for (pid_t process = getppid(); process > 1; process = parent_of(process)) {
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
    if (error) continue;  // another user's, such as the login shell's parent
    launcher.ancestors.push_back(path.string());
    if (launcher.family.empty()) launcher.family = family_of_launcher_name(path.filename().string());
  }
  return launcher;
}

Result<Runtime> choose_by_library(const std::vector<Runtime>& runtimes, const MpiLibrary& mpi) {
  for (const Runtime& runtime : runtimes) {
    if (runtime.present && runtime.library == mpi.path) return runtime;
  }
  const std::vector<Runtime> fitting = present_of_family(runtimes, mpi.family);
  if (fitting.empty()) {
    return Status(Code::invalid, "no runtime library fits " + mpi.path + " (family " + mpi.family +
                                     "); built were: " + list_tags(runtimes) +
                                     ". Configure pmio with -DPMIO_MPICC=<that MPI's mpicc>");
  }
  return fitting.size() == 1 ? fitting.front() : nearest(fitting, major_version(mpi.path));
}

Result<Runtime> choose_by_launcher(const std::vector<Runtime>& runtimes, const Launcher& launcher) {
  const std::vector<Runtime> fitting = present_of_family(runtimes, launcher.family);
  if (fitting.empty()) {
    const std::string which = launcher.family.empty()
                                  ? "no runtime library is built"
                                  : "no runtime library fits the launcher's MPI, " + launcher.family;
    return Status(Code::invalid, which + "; built were: " + list_tags(runtimes) +
                                     ". Configure pmio with -DPMIO_MPICC=<that MPI's mpicc>");
  }
  if (fitting.size() == 1) return fitting.front();
  if (launcher.family.empty()) {
    return Status(
        Code::invalid,
        "the program links no MPI library itself and no MPI launcher started it, so that nothing tells which "
        "MPI it uses: name one by --mpi; built were: " +
            list_tags(runtimes));
  }
  for (const std::string& ancestor : launcher.ancestors) {
    std::vector<Runtime> beside;
    for (const Runtime& runtime : fitting) {
      if (inside(ancestor, runtime.prefix)) beside.push_back(runtime);
    }
    // The longest prefix wins: /usr holds /usr/local.
    if (!beside.empty()) {
      return *std::max_element(beside.begin(), beside.end(), [](const Runtime& a, const Runtime& b) {
        return a.prefix.size() < b.prefix.size();
      });
    }
    if (*family_of_launcher_name(file_name(ancestor)) != '\0')
      break;  // beyond it is only what started the job
  }
  return nearest(fitting, launcher.major);
}

Result<Runtime> choose_runtime(const std::vector<Runtime>& runtimes, const std::string& program) {
  auto facts = program_facts(program);
  if (!facts.ok() && facts.status().code() != Code::access) return facts.status();
  std::string linked = program;
  if (facts.ok() && facts->kind == ProgramKind::script) {
    linked = facts->interpreter;
    facts = program_facts(linked);
  } else if (facts.ok() && facts->kind == ProgramKind::fixed) {
    return Status(Code::unsupported,
                  program + " is statically linked: nothing can be preloaded into it; link it " +
                      "dynamically, or name the runtime library for what it starts by --mpi");
  }
  if (facts.ok() && !facts->loader.empty()) {
    auto libraries = loaded_libraries(linked, facts->loader);
    if (!libraries.ok()) return libraries.status();
    if (const auto mpi = find_mpi(*libraries)) return choose_by_library(runtimes, *mpi);
  }
  return choose_by_launcher(runtimes, find_launcher());
}

}  // namespace pmio::cli
