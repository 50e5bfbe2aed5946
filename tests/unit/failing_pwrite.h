// In front of the C library's: how a target is written. Included once per program.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

inline std::atomic<int> write_error{0};  // errno of writes to the target; 0: they succeed

extern "C" ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
  if (write_error != 0) {
    errno = write_error;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, data, length, offset);
}
