// Opening the target: by which path, with which access, and only the file that is meant.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "drain/target.h"
#include "drain/target_calls.h"

namespace pmio {
namespace {

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
  // The file's kind is checked before the open, too. The open of a pipe waits for its other end, and the open
  // of a device may act.
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Status::from_errno(errno, what("cannot open", path));
  PMIO_TRY(check_regular(info.st_mode, path));
  return finish_open(open_retrying(path.c_str(), flags_of(access)), path, access);
}

Result<std::unique_ptr<TargetFile>> TargetFile::open_to_read(const std::string& path) {
  auto file = open(path, Access::read_only);
  // The check is for the effective user, who would open the file later.
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
  // It takes the place of the old descriptor, because other threads may be reading by that.
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

}  // namespace pmio
