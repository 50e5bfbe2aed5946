#include "cli/doctor/program.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "cli/run/loader.h"
#include "cli/run/prospects.h"

namespace pmio::cli {
namespace {

struct Version {
  int major = 0, minor = 0;
};

// PnetCDF's libraries hold their version as text, for ident(1). 0.0: this one does not.
Version pnetcdf_version(const std::string& path) {
  static constexpr std::string_view kBefore = "PnetCDF library version ";
  std::ifstream file(path, std::ios::binary);
  const std::string contents(std::istreambuf_iterator<char>(file), {});
  Version version;
  for (size_t at = 0; (at = contents.find(kBefore, at)) != std::string::npos;) {
    at += kBefore.size();
    if (std::sscanf(contents.c_str() + at, "%d.%d", &version.major, &version.minor) == 2) return version;
  }
  return {};
}

// 1.15 brought a driver that writes by POSIX calls.
bool goes_past_mpi_io(const Version& version) {
  return version.major > 1 || (version.major == 1 && version.minor >= 15);
}

bool is_told_to_use_mpi_io() {
  const char* hints = std::getenv("PNETCDF_HINTS");
  return hints != nullptr && std::string_view(hints).find("nc_driver=mpiio") != std::string_view::npos;
}

}  // namespace

void check_program(Diagnosis& diagnosis, const std::string& program) {
  bool denied = false;
  const std::string path = find_program(program, &denied);
  if (path.empty()) {
    diagnosis.findings.push_back(
        {program + (denied ? ": permission denied" : ": not found"), "name a program"});
    return;
  }
  const Prospects prospects = look_at_program(diagnosis.runtimes, path);
  diagnosis.program = path;
  diagnosis.program_mpi = prospects.mpi;
  if (!prospects.obstacle.ok())
    diagnosis.findings.push_back({prospects.obstacle.message(), "without that it runs as without pmio"});
  if (is_told_to_use_mpi_io()) return;
  for (const LoadedLibrary& library : prospects.libraries) {
    if (!library.name.starts_with("libpnetcdf.so")) continue;
    if (goes_past_mpi_io(pnetcdf_version(library.path)))
      diagnosis.findings.push_back(
          {program + " loads " + library.path +
               ", whose default driver goes past MPI-IO: its files are not logged",
           "PNETCDF_HINTS=nc_driver=mpiio, or a PnetCDF that is built without that driver"});
  }
}

}  // namespace pmio::cli
