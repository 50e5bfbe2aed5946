#include "cli/run/prospects.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "hints/family.h"

namespace pmio::cli {
namespace {

struct MpiLibrary {
  std::string path;  // links resolved
  std::string family;
};

// The first MPI library among the loaded ones.
std::optional<MpiLibrary> find_mpi(const std::vector<LoadedLibrary>& libraries) {
  for (const LoadedLibrary& library : libraries) {
    const char* family = family_of_library(library.name);
    if (!library.path.empty() && family != nullptr) return MpiLibrary{library.path, family};
  }
  return std::nullopt;
}

std::string find_sanitizer(const std::vector<LoadedLibrary>& libraries) {
  for (const LoadedLibrary& library : libraries) {
    for (const char* known : {"libasan.so", "libtsan.so", "liblsan.so", "libclang_rt."}) {
      if (library.name.find(known) != std::string::npos) return library.path;
    }
  }
  return {};
}

Status fits(const std::vector<Runtime>& runtimes, const MpiLibrary& mpi) {
  const auto serves = [&mpi](const Runtime& runtime) {
    return runtime.present && runtime.family == mpi.family;
  };
  if (std::any_of(runtimes.begin(), runtimes.end(), serves)) return {};
  return {Code::unsupported, "no runtime library fits " + mpi.path + " (family " + mpi.family +
                                 "); built were: " + list_tags(runtimes) +
                                 ". Configure pmio with -DPMIO_MPICC=<that MPI's mpicc>"};
}

}  // namespace

Prospects look_at_program(const std::vector<Runtime>& runtimes, const std::string& program) {
  Prospects prospects;
  auto facts = program_facts(program);
  std::string linked = program;
  if (facts.ok() && facts->kind == ProgramKind::script) {
    linked = facts->interpreter;
    facts = program_facts(linked);
  } else if (facts.ok() && facts->kind == ProgramKind::fixed) {
    prospects.obstacle =
        Status(Code::unsupported, program +
                                      " is statically linked, and nothing can be preloaded into it: "
                                      "link it dynamically");
    return prospects;
  }
  if (!facts.ok() || facts->loader.empty()) return prospects;
  auto libraries = loaded_libraries(linked, facts->loader);
  if (!libraries.ok()) return prospects;
  prospects.sanitizer = find_sanitizer(*libraries);
  if (const auto mpi = find_mpi(*libraries)) {
    prospects.mpi = mpi->path;
    prospects.obstacle = fits(runtimes, *mpi);
  } else if (contains_mpi(linked)) {
    prospects.obstacle = Status(Code::unsupported,
                                linked +
                                    " has its MPI library linked into it, and nothing can be preloaded into "
                                    "that: link libmpi dynamically");
  }
  prospects.libraries = std::move(*libraries);
  return prospects;
}

std::string sanitizer_of(const std::string& path, const std::string& loader) {
  auto libraries = loaded_libraries(path, loader);
  return libraries.ok() ? find_sanitizer(*libraries) : std::string();
}

}  // namespace pmio::cli
