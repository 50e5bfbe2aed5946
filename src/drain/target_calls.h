// What the parts of TargetFile share. Internal to src/drain.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace pmio {

// "<what failed> '<path>'", for messages.
inline std::string what(const char* verb, const std::string& path) {
  return std::string(verb) + " '" + path + "'";
}

inline int open_retrying(const char* path, int flags) {
  int fd;
  do {
    fd = ::open(path, flags | O_CLOEXEC | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Leads to an open file, whatever the file's path leads to by now.
inline std::string own_link(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace pmio
