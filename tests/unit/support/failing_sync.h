// fdatasync that fails once when it is told to: so the kernel tells of bytes that are lost.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "support/system_calls.h"

namespace pmio::test {

class FailingSync {
 public:
  static void fail_next(int error) { error_ = error; }
  static bool has_failed() { return error_ == 0; }

 private:
  static int fdatasync(int fd) {
    errno = error_.exchange(0);
    return errno != 0 ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd));
  }
  static inline std::atomic<int> error_{0};
  const StandIn stand_in_{{.fdatasync = fdatasync}};
};

}  // namespace pmio::test
