// The families of MPI libraries, told by their file names. Within one, handles and constants are laid out
// alike, so one runtime library serves it. Threads: any.
#pragma once

#include <string_view>

namespace pmio {

struct KnownLibrary {
  std::string_view name;  // what may follow is a point and further numbers
  const char* family;
};
// Intel MPI and MVAPICH carry MPICH's soname and its ABI.
inline constexpr KnownLibrary kKnownLibraries[] = {{"libmpi.so.12", "mpich"},
                                                   {"libmpich.so.12", "mpich"},
                                                   {"libmpi.so.40", "openmpi"},
                                                   {"libmpi_abi.so", "abi"}};

// By the last component of path; nullptr: not an MPI library, or one without its version in the name.
inline const char* family_of_library(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const KnownLibrary& known : kKnownLibraries) {
    if (!file.starts_with(known.name)) continue;
    if (file.size() == known.name.size() || file[known.name.size()] == '.') return known.family;
  }
  return nullptr;
}

}  // namespace pmio
