// Owns a file descriptor; -1: none. A process that the program forks does not keep it open (base/forked.h).
// Threads: values, no sharing.
#pragma once

#include <unistd.h>

#include <utility>

#include "base/forked.h"

namespace pmio {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) { keep_from_children(fd); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ < 0) return;
    forget_descriptor(fd_);
    close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // The new owner may keep it from children again.
  int release() {
    forget_descriptor(fd_);
    return std::exchange(fd_, -1);
  }

 private:
  int fd_ = -1;
};

// The same descriptor by a number of 1,024 or more, which select() cannot use, if the limit of descriptors
// allows it. It is for descriptors that pmio keeps in large numbers, because programs need the lower ones. It
// is not for a file that the program may have locked by fcntl: the close of the lower number would end the
// lock.
FileDescriptor out_of_the_way(FileDescriptor low);
// Makes the kernel's table of this process large enough for that if there is one thread. With several threads
// the kernel would wait some 10 ms for all processors.
void make_way_if_alone();

}  // namespace pmio
