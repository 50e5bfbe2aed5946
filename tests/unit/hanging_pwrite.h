// In front of the C library's: writes to the target that hang or fail for as long as an object lives.
// Included once per program.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

inline std::atomic<bool> writes_hang{false};
inline std::atomic<int> writes_fail{0};  // errno

struct Hanging {
  Hanging() { writes_hang = true; }
  ~Hanging() { writes_hang = false; }
};

struct Failing {
  explicit Failing(int error) { writes_fail = error; }
  ~Failing() { writes_fail = 0; }
};

extern "C" ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
  constexpr useconds_t kPoll = 1000;
  while (writes_hang) usleep(kPoll);
  if (writes_fail != 0) {
    errno = writes_fail;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, data, length, offset);
}
