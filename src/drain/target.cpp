#include "drain/target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "medium/directory.h"

namespace pmio {
namespace {

// Linux transfers at most this much per call; asking for more is not an error, but asks for a needless short
// count.
constexpr uint64_t kMostPerCall = 0x7ffff000;
constexpr size_t kDirectBytes = 4096;  // length and alignment of a read past the page cache

void count_call(std::atomic<uint64_t> (&classes)[3], uint64_t length) {
  classes[length <= 1024 ? 0 : length <= (1 << 20) ? 1 : 2].fetch_add(1, std::memory_order_relaxed);
}

void add(std::atomic<uint64_t>& counter, uint64_t value) {
  counter.fetch_add(value, std::memory_order_relaxed);
}

bool in_file_range(uint64_t offset, uint64_t length) {
  return offset <= INT64_MAX && length <= INT64_MAX - offset;
}

std::string what(const char* verb, const std::string& path) { return std::string(verb) + " '" + path + "'"; }

int flags_of(TargetFile::Access access) {
  switch (access) {
    case TargetFile::Access::read_only:
      return O_RDONLY;
    case TargetFile::Access::write_only:
      return O_WRONLY;
    case TargetFile::Access::read_write:
      break;
  }
  return O_RDWR;
}

FileIdentity identity_in(const struct statx& info) {
  FileIdentity identity;
  identity.device = makedev(info.stx_dev_major, info.stx_dev_minor);
  identity.inode = info.stx_ino;
  if ((info.stx_mask & STATX_BTIME) != 0) identity.birth_ns = to_ns(info.stx_btime);
  return identity;
}

Status check_regular(unsigned mode, const std::string& path) {
  if (S_ISREG(mode)) return {};
  return Status(Code::unsupported,
                "'" + path + "' is not a regular file; pmio only takes over regular files");
}

// 0, or an errno.
int sync_data(int fd) {
  int result;
  do {
    result = fdatasync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

int open_retrying(const char* path, int flags) {
  int fd;
  do {
    fd = ::open(path, flags | O_CLOEXEC | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// That leads to an open file, whatever its path does by now.
std::string own_link(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

bool same_file(const FileIdentity& a, const FileIdentity& b) {
  const bool births_agree = a.birth_ns == 0 || b.birth_ns == 0 || a.birth_ns == b.birth_ns;
  return a.device == b.device && a.inode == b.inode && births_agree;
}

bool is_recorded(const FileIdentity& recorded, const FileIdentity& found) {
  FileIdentity now = found;
  if (major(recorded.device) == 0 && major(found.device) == 0) now.device = recorded.device;
  return same_file(recorded, now);
}

Result<std::unique_ptr<TargetFile>> TargetFile::open(const std::string& path, Access access) {
  // Looked at before it is opened too: the opening of a pipe waits for its other end, that of a device may
  // act.
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Status::from_errno(errno, what("cannot open", path));
  PMIO_TRY(check_regular(info.st_mode, path));
  return finish_open(open_retrying(path.c_str(), flags_of(access)), path, access);
}

Result<std::unique_ptr<TargetFile>> TargetFile::open_to_read(const std::string& path) {
  auto file = open(path, Access::read_only);
  // Who asks is who would open it then: the effective user.
  if (file.ok() && faccessat(AT_FDCWD, own_link((*file)->fd_).c_str(), W_OK, AT_EACCESS) == 0)
    (*file)->access_ = Access::read_write;
  return file;
}

Status TargetFile::open_to_write() {
  if (opened_to_write()) return {};
  const LockGuard lock(open_mutex_);
  if (opened_to_write()) return {};
  const bool may = access_ != Access::read_only;
  const int fd = may ? open_retrying(own_link(fd_).c_str(), O_RDWR) : (errno = EBADF, -1);
  if (fd < 0) return Status::from_errno(errno, what("cannot write to", path_));
  // In its place: other threads may be reading by it.
  const int placed = dup3(fd, fd_, O_CLOEXEC);
  const int error = errno;
  ::close(fd);
  if (placed < 0) return Status::from_errno(error, what("cannot write to", path_));
  opened_to_write_.store(true, std::memory_order_release);
  return {};
}

Result<std::unique_ptr<TargetFile>> TargetFile::open_same(const std::string& path, const FileIdentity& meant,
                                                          Access access) {
  return open_if(path, meant, access, same_file);
}

Result<std::unique_ptr<TargetFile>> TargetFile::open_recorded(const std::string& path,
                                                              const FileIdentity& meant, Access access) {
  return open_if(path, meant, access, is_recorded);
}

Result<std::unique_ptr<TargetFile>> TargetFile::open_if(const std::string& path, const FileIdentity& meant,
                                                        Access access, Same same) {
  const int place = open_retrying(path.c_str(), O_PATH);
  if (place < 0) return Status::from_errno(errno, what("cannot open", path));
  auto found = finish_open(place, path, access);
  if (!found.ok()) return found;
  if (!same(meant, (*found)->identity_))
    return Status(Code::invalid, path + " is not the file that was written, but another one of that name");
  return (*found)->reopen(access);
}

Result<std::unique_ptr<TargetFile>> TargetFile::reopen(Access access) const {
  return finish_open(open_retrying(own_link(fd_).c_str(), flags_of(access)), path_, access);
}

Result<std::unique_ptr<TargetFile>> TargetFile::reopen_past_cache() {
  const int fd = in_user_space() ? open_retrying(own_link(fd_).c_str(), O_RDONLY | O_DIRECT) : -1;
  if (fd < 0) return reopen(Access::read_only);
  auto file = finish_open(fd, path_, Access::read_only);
  if (file.ok()) (*file)->past_cache_ = true;
  return file;
}

Result<std::unique_ptr<TargetFile>> TargetFile::finish_open(int fd, const std::string& path, Access access) {
  if (fd < 0) return Status::from_errno(errno, what("cannot open", path));
  std::unique_ptr<TargetFile> file(new TargetFile);
  file->fd_ = fd;
  file->access_ = access;
  file->opened_to_write_ = access != Access::read_only;
  file->path_ = path;
  struct statx info;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &info) != 0)
    return Status::from_errno(errno, what("cannot examine", path));
  PMIO_TRY(check_regular(info.stx_mode, path));
  file->identity_ = identity_in(info);
  return file;
}

TargetFile::~TargetFile() { lay_down(); }

void TargetFile::lay_down() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void TargetFile::take_up(std::unique_ptr<TargetFile> opened) {
  lay_down();
  fd_ = std::exchange(opened->fd_, -1);
  access_ = opened->access_;
  opened_to_write_ = opened->opened_to_write();
  path_ = opened->path_;
  identity_ = opened->identity_;
}

Result<FileIdentity> identity_of(const std::string& path) {
  struct statx info;
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &info) != 0)
    return Status::from_errno(errno, what("cannot examine", path));
  return identity_in(info);
}

std::string TargetFile::file_system() const { return file_system_of(fd_, identity_.device); }

int64_t TargetFile::largest_bytes() const {
  const auto is_offset = [this](int64_t bytes) { return lseek(fd_, bytes, SEEK_SET) == bytes; };
  if (is_offset(INT64_MAX) || errno != EINVAL) return INT64_MAX;
  int64_t most = 0;
  for (int64_t step = int64_t{1} << 62; step > 0; step /= 2) {
    if (is_offset(most + step)) most += step;
  }
  return most;
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

Result<FileState> TargetFile::state(bool fresh) const {
  struct statx info;
  const int flags = AT_EMPTY_PATH | (fresh ? AT_STATX_FORCE_SYNC : 0);
  if (statx(fd_, "", flags, STATX_SIZE | STATX_MTIME, &info) != 0)
    return Status::from_errno(errno, what("cannot examine", path_));
  return FileState{info.stx_size, to_ns(info.stx_mtime)};
}

Result<FileState> TargetFile::set_back() const {
  auto before = state(true);
  if (!before.ok()) return before;
  const uint64_t earlier = before->mtime_ns - kSetBackNs;
  const timespec times[] = {
      {0, UTIME_OMIT}, {static_cast<time_t>(earlier / kSecondNs), static_cast<long>(earlier % kSecondNs)}};
  if (futimens(fd_, times) != 0) return Status::from_errno(errno, what("cannot set the times of", path_));
  auto after = state(true);
  if (after.ok() && after->mtime_ns >= before->mtime_ns)
    return Status(Code::unsupported, "'" + path_ + "' keeps no earlier time");
  return after;
}

Status TargetFile::write(uint64_t offset, const void* data, uint64_t length) {
  if (!in_file_range(offset, length)) return Status::from_errno(EFBIG, what("cannot write to", path_));
  PMIO_TRY(open_to_write());
  const auto* from = static_cast<const std::byte*>(data);
  while (length > 0) {
    const uint64_t ask = length < kMostPerCall ? length : kMostPerCall;
    const uint64_t start = monotonic_ns();
    const ssize_t n = pwrite(fd_, from, ask, static_cast<off_t>(offset));
    const int error = errno;
    add(counters_.write_ns, monotonic_ns() - start);
    count_call(counters_.writes, ask);
    if (n < 0 && error == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? error : EIO, what("cannot write to", path_));
    add(counters_.written_bytes, static_cast<uint64_t>(n));
    from += n;
    offset += static_cast<uint64_t>(n);
    length -= static_cast<uint64_t>(n);
  }
  return {};
}

// One behind the other in the file. Changes parts.
Status TargetFile::write_parts(uint64_t offset, std::span<iovec> parts, uint64_t length) {
  if (!in_file_range(offset, length)) return Status::from_errno(EFBIG, what("cannot write to", path_));
  PMIO_TRY(open_to_write());
  while (length > 0) {
    const uint64_t start = monotonic_ns();
    const ssize_t n = pwritev(fd_, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
    const int error = errno;
    add(counters_.write_ns, monotonic_ns() - start);
    count_call(counters_.writes, length);
    if (n < 0 && error == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? error : EIO, what("cannot write to", path_));
    const auto written = static_cast<uint64_t>(n);
    add(counters_.written_bytes, written);
    offset += written;
    length -= written;
    for (uint64_t left = written; left > 0;) {
      iovec& part = parts.front();
      const uint64_t done = std::min<uint64_t>(left, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + done;
      part.iov_len -= done;
      left -= done;
      if (part.iov_len == 0) parts = parts.subspan(1);
    }
  }
  return {};
}

Status TargetFile::write_blocks(std::span<const Block> blocks) {
  std::vector<iovec> parts;
  for (size_t i = 0; i < blocks.size();) {
    const uint64_t offset = blocks[i].offset;
    uint64_t length = 0;
    parts.clear();
    do {
      parts.push_back({const_cast<std::byte*>(blocks[i].data), blocks[i].length});
      length += blocks[i].length;
      i++;
    } while (i < blocks.size() && parts.size() < IOV_MAX && blocks[i].offset == offset + length &&
             blocks[i].length <= kMostPerCall - std::min(length, kMostPerCall));
    PMIO_TRY(write_parts(offset, parts, length));
  }
  return {};
}

Result<bool> TargetFile::allocate(uint64_t bytes) {
  if (!in_file_range(0, bytes)) return Status::from_errno(EFBIG, what("cannot make room in", path_));
  PMIO_TRY(open_to_write());
  while (bytes > 0 && fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return false;
    if (errno != EINTR) return Status::from_errno(errno, what("cannot make room in", path_));
  }
  return true;
}

Status TargetFile::grow(uint64_t bytes, uint64_t known_end) {
  if (bytes <= known_end) return {};
  auto now = state(true);
  if (!now.ok()) return now.status();
  const std::byte zero{};
  return bytes <= now->size_bytes ? Status() : write(bytes - 1, &zero, 1);
}

Status TargetFile::read(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  *got = 0;
  if (offset > INT64_MAX) return {};
  if (!in_file_range(offset, length)) length = INT64_MAX - offset;
  auto* to = static_cast<std::byte*>(data);
  while (*got < length) {
    const uint64_t ask = length - *got < kMostPerCall ? length - *got : kMostPerCall;
    const uint64_t start = monotonic_ns();
    const ssize_t n = pread(fd_, to + *got, ask, static_cast<off_t>(offset + *got));
    const int error = errno;
    add(counters_.read_ns, monotonic_ns() - start);
    count_call(counters_.reads, ask);
    if (n < 0 && error == EINTR) continue;
    if (n < 0) return Status::from_errno(error, what("cannot read from", path_));
    if (n == 0) break;
    add(counters_.read_bytes, static_cast<uint64_t>(n));
    *got += static_cast<uint64_t>(n);
  }
  return {};
}

void TargetFile::forget_cached(uint64_t offset, uint64_t length) {
  // Of a page that the range does not hold as a whole, the kernel would keep all.
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const uint64_t end = length == 0 ? begin : (offset + length + page - 1) / page * page;
  // Advice: where it cannot be taken there is nothing better. A length of 0 is all to the end.
  (void)posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
}

void TargetFile::read_nothing_ahead() { (void)posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM); }

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

// A client in user space first sends on what others on its node have written: it must not give a reader older
// bytes. The read itself may fail; where nobody on this node may read, there is nothing to be done.
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
