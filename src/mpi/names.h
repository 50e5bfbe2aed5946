// Which file a name means that a program gives to MPI_File_open. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "drain/target.h"

namespace pmio {

// The name of the file that the library opens or has opened; empty if that cannot be told. Newer versions of
// ROMIO know the prefixes in lower case only, older ones and Intel's in any case. Open MPI's OMPIO opens a
// file of the literal name.
std::string without_prefix(const std::string& name);

// Absolute, with the directory's links resolved, so that a name means the same file after a chdir. Empty if
// the directory cannot be resolved, or the name may mean two files.
std::string absolute_path(const std::string& filename);

// Whether the file is gone when this name is: not if the name is a link, or one of several.
bool is_only_name(const std::string& path);

// Nothing if no file is there.
std::optional<FileIdentity> identity_at(const std::string& path);

}  // namespace pmio
