// How much of a file is in the logs of a log directory: for those who wait until the file is complete.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "recover/scan.h"

namespace pmio {

struct HeldBytes {
  uint64_t running = 0;     // in logs of jobs that run, which are bringing them into the file, or will
  uint64_t dead = 0;        // in logs of dead jobs: recovery's
  bool is_unknown = false;  // a recovery is under way: ask again later
};

// Whether a file of a log is the one at this path, or was there, if none is.
bool is_file_at(const FileInfo& file, const std::string& path);

// path: of the file, absolute or not. It changes nothing. Errors: as scan's.
Result<HeldBytes> held_bytes(const std::string& directory, const std::string& path);

}  // namespace pmio
