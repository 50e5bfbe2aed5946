// Writes to target files that hang or fail for as long as an object lives.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "support/system_calls.h"

namespace pmio::test {

class HangingWrites {
 public:
  HangingWrites() { hang_ = true; }
  ~HangingWrites() { hang_ = false; }

 private:
  static ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
    constexpr useconds_t kPoll = 1000;
    while (hang_) usleep(kPoll);
    return syscall(SYS_pwrite64, fd, data, length, offset);
  }
  static inline std::atomic<bool> hang_{false};
  const StandIn stand_in_{{.pwrite = pwrite}};
};

class FailingWrites {
 public:
  explicit FailingWrites(int error) { error_ = error; }

 private:
  static ssize_t pwrite(int, const void*, size_t, off_t) {
    errno = error_;
    return -1;
  }
  static inline std::atomic<int> error_{0};
  const StandIn stand_in_{{.pwrite = pwrite}};
};

}  // namespace pmio::test
