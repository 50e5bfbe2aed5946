// Making the target's bytes durable, and visible to other nodes.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "drain/target.h"
#include "drain/target_calls.h"
#include "medium/directory.h"

namespace pmio {

constexpr size_t kDirectBytes = 4096;  // length and alignment of a read past the page cache

// Returns 0, or an errno.
static int sync_data(int fd) {
  int result;
  do {
    result = fdatasync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

Result<uint64_t> TargetFile::size_bytes(bool fresh) {
  if (fresh) {
    const LockGuard lock(sync_mutex_);
    if (const int error = sync_data(fd_); error != 0) untold_ = error;
  }
  auto now = state(fresh);
  if (!now.ok()) return now.status();
  return now->size_bytes;
}

Status TargetFile::sync_name() {
  PMIO_TRY(sync());
  const size_t slash = path_.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int error = sync_directory(AT_FDCWD, parent.c_str());
  return error == 0 ? Status() : Status::from_errno(error, what("cannot sync", parent));
}

Status TargetFile::flush() {
  const int copy = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Status::from_errno(errno, what("cannot duplicate the descriptor of", path_));
  if (::close(copy) == 0 || errno == EINTR) return {};
  return Status::from_errno(errno, what("cannot write to", path_));
}

// Its errors are those of the sync that follows.
void TargetFile::begin_sync(uint64_t offset, uint64_t length) const {
  static_cast<void>(sync_file_range(fd_, static_cast<off64_t>(offset), static_cast<off64_t>(length),
                                    SYNC_FILE_RANGE_WRITE));
}

Status TargetFile::sync() {
  const LockGuard lock(sync_mutex_);
  int error = sync_data(fd_);
  if (error == 0) error = untold_;
  untold_ = 0;
  if (error == 0) return {};
  losses_.fetch_add(1, std::memory_order_release);
  return Status::from_errno(error, what("cannot sync", path_));
}

bool TargetFile::in_user_space() {
  int known = in_user_space_.load(std::memory_order_relaxed);
  if (known < 0) {
    known = file_system().starts_with("fuse") ? 1 : 0;
    in_user_space_.store(known, std::memory_order_relaxed);
  }
  return known != 0;
}

// A client in user space first sends on what other processes of its node have written, because it must not
// give a reader older bytes. The read itself may fail. If nobody on this node may read, nothing can be done.
void TargetFile::read_past_cache() {
  const int fd = open_retrying(own_link(fd_).c_str(), O_RDONLY | O_DIRECT);
  if (fd < 0) return;
  alignas(kDirectBytes) std::byte bytes[kDirectBytes];
  while (pread(fd, bytes, sizeof bytes, 0) < 0 && errno == EINTR) {
  }
  ::close(fd);
}

Status TargetFile::sync_of_all() {
  if (counters_.written_bytes.load(std::memory_order_relaxed) == 0 && syncs_own_writes()) read_past_cache();
  return sync();
}

Status TargetFile::sync_since(uint64_t losses) {
  PMIO_TRY(sync());
  return this->losses() == losses ? Status() : Status::from_errno(EIO, what("cannot sync", path_));
}

}  // namespace pmio
