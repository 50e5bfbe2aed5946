#include "medium/default_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace pmio {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::string default_directory() {
  // Ranks may start in other directories, and so may a recovery.
  if (std::string given = environment("PMIO_DIR"); given.starts_with('/'))
    return without_trailing_slashes(given);
  const std::string own = "/pmio-" + std::to_string(geteuid());
  // The effective ids decide, as they do for the files that will be created.
  if (faccessat(AT_FDCWD, "/dev/shm", W_OK | X_OK, AT_EACCESS) == 0) return "/dev/shm" + own;
  const std::string temporary = environment("TMPDIR");
  return without_trailing_slashes(temporary.empty() ? "/tmp" : temporary) + own;
}

}  // namespace pmio
