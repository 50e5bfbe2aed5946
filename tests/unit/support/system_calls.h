// System calls that a test stands in front of. They are the C library's until a StandIn is there, and again
// when it is gone.
#pragma once

#include <dirent.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace pmio::test {

// Null: the C library's.
struct SystemCalls {
  int (*open)(const char* path, int flags, mode_t mode) = nullptr;
  int (*openat)(int directory, const char* path, int flags, mode_t mode) = nullptr;
  int (*close)(int fd) = nullptr;
  ssize_t (*pread)(int fd, void* data, size_t length, off_t offset) = nullptr;
  ssize_t (*pwrite)(int fd, const void* data, size_t length, off_t offset) = nullptr;
  // Null: part by part as pwrite, if something stands in front of that.
  ssize_t (*pwritev)(int fd, const iovec* parts, int count, off_t offset) = nullptr;
  int (*fdatasync)(int fd) = nullptr;
  int (*posix_fadvise)(int fd, off_t offset, off_t length, int advice) = nullptr;
  dirent* (*readdir)(DIR* directory) = nullptr;
};

// For all threads of the process, and for processes that it forks. One object at a time may stand in front of
// a call.
class StandIn {
 public:
  explicit StandIn(const SystemCalls& calls);
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

 private:
  const SystemCalls calls_;
};

// The C library's, for who stands in front of it and has no system call to do the same.
dirent* real_readdir(DIR* directory);

}  // namespace pmio::test
