#include "support/system_calls.h"

#include <dlfcn.h>
#include <fcntl.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>

namespace pmio::test {
namespace {

// One call: what stands in front of it, and the C library's. In a program with a sanitizer the latter is the
// sanitizer's, which so learns of every call that nobody stands in front of.
template <typename Function>
class Call {
 public:
  explicit constexpr Call(const char* name) : name_(name) {}
  Function get() {
    const Function first = in_front();
    return first != nullptr ? first : real();
  }
  Function in_front() const { return in_front_.load(std::memory_order_acquire); }
  Function real() {
    Function found = real_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
      real_.store(found, std::memory_order_relaxed);
    }
    return found;
  }
  void stand_in(Function function) {
    if (function == nullptr) return;
    if (in_front_.exchange(function, std::memory_order_acq_rel) != nullptr) std::abort();  // there was one
  }
  void leave(Function function) {
    if (function != nullptr) in_front_.store(nullptr, std::memory_order_release);
  }

 private:
  const char* name_;
  std::atomic<Function> in_front_{nullptr}, real_{nullptr};
};

// Without constructors that run: other objects' constructors make these calls.
struct Calls {
  Call<int (*)(const char*, int, mode_t)> open{"open"};
  Call<int (*)(int, const char*, int, mode_t)> openat{"openat"};
  Call<int (*)(int)> close{"close"};
  Call<ssize_t (*)(int, void*, size_t, off_t)> pread{"pread"};
  Call<ssize_t (*)(int, const void*, size_t, off_t)> pwrite{"pwrite"};
  Call<ssize_t (*)(int, const iovec*, int, off_t)> pwritev{"pwritev"};
  Call<int (*)(int)> fdatasync{"fdatasync"};
  Call<int (*)(int, off_t, off_t, int)> posix_fadvise{"posix_fadvise"};
  Call<dirent* (*)(DIR*)> readdir{"readdir"};
};
constinit Calls calls;

// visit(call, what of in_front stands in front of it) for each call.
template <class Visit>
void for_each(const SystemCalls& in_front, const Visit& visit) {
  visit(calls.open, in_front.open);
  visit(calls.openat, in_front.openat);
  visit(calls.close, in_front.close);
  visit(calls.pread, in_front.pread);
  visit(calls.pwrite, in_front.pwrite);
  visit(calls.pwritev, in_front.pwritev);
  visit(calls.fdatasync, in_front.fdatasync);
  visit(calls.posix_fadvise, in_front.posix_fadvise);
  visit(calls.readdir, in_front.readdir);
}

}  // namespace

StandIn::StandIn(const SystemCalls& in_front) : calls_(in_front) {
  for_each(calls_, [](auto& call, auto function) { call.stand_in(function); });
}

StandIn::~StandIn() {
  for_each(calls_, [](auto& call, auto function) { call.leave(function); });
}

static ssize_t write_part_by_part(int fd, const iovec* parts, int count, off_t offset) {
  ssize_t all = 0;
  for (const iovec* part = parts; part != parts + count; ++part) {
    const ssize_t written = calls.pwrite.get()(fd, part->iov_base, part->iov_len, offset + all);
    if (written < 0) return all > 0 ? all : -1;
    all += written;
    if (static_cast<size_t>(written) < part->iov_len) break;
  }
  return all;
}

dirent* real_readdir(DIR* directory) { return calls.readdir.real()(directory); }

}  // namespace pmio::test

using pmio::test::calls;

// In front of the C library's.
extern "C" {
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return calls.open.get()(path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return calls.openat.get()(directory, path, flags, mode);
}
int close(int fd) { return calls.close.get()(fd); }
ssize_t pread(int fd, void* data, size_t length, off_t offset) {
  return calls.pread.get()(fd, data, length, offset);
}
ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
  return calls.pwrite.get()(fd, data, length, offset);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (calls.pwritev.in_front() == nullptr && calls.pwrite.in_front() != nullptr)
    return pmio::test::write_part_by_part(fd, parts, count, offset);
  return calls.pwritev.get()(fd, parts, count, offset);
}
int fdatasync(int fd) { return calls.fdatasync.get()(fd); }
int posix_fadvise(int fd, off_t offset, off_t length, int advice) {
  return calls.posix_fadvise.get()(fd, offset, length, advice);
}
dirent* readdir(DIR* directory) { return calls.readdir.get()(directory); }
}
