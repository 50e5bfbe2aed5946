#include "recover/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "log/last_seen.h"

namespace pmio {

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<void*>(base_), size_);
}

static int flock_retrying(int fd, int operation) {
  int result;
  do {
    result = flock(fd, operation);
  } while (result != 0 && errno == EINTR);
  return result;
}

// The lock's file may have been unlinked by its last holder, between our open and our flock; then it locks
// nothing.
static bool still_named(int directory_fd, const std::string& name, int fd) {
  struct stat held, named;
  return fstat(fd, &held) == 0 && fstatat(directory_fd, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

Result<FileLock> FileLock::take(int directory_fd, const std::string& name, bool wait) {
  for (;;) {
    // NFS wants a descriptor for writing.
    const auto open_as = [&](int access) {
      return FileDescriptor(
          openat(directory_fd, name.c_str(), access | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    };
    FileDescriptor file = open_as(O_RDWR);
    if (!file.ok() && (errno == EACCES || errno == EROFS)) file = open_as(O_RDONLY);
    if (file.get() < 0) return Status::from_errno(errno, "cannot open the lock " + name);
    if (flock_retrying(file.get(), wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Status(Code::busy, name + " is held by another process", EWOULDBLOCK);
      return Status::from_errno(errno, "cannot lock " + name);
    }
    if (still_named(directory_fd, name, file.get())) return FileLock(std::move(file));
  }
}

Result<LogDirectory> LogDirectory::open_at(int at, const std::string& name, const std::string& path) {
  FileDescriptor fd(openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return Status(Code::access,
                    path + " is not a directory, or a symbolic link to one; name the directory itself",
                    errno);
    }
    return Status::from_errno(errno, "cannot open the log directory " + path);
  }
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return Status::from_errno(errno, "cannot examine " + path);
  if (facts.st_uid != geteuid()) {
    return Status(Code::access, path + " belongs to user " + std::to_string(facts.st_uid) +
                                    "; logs can only be read by their owner");
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(Code::access, path + " can be written by others, so its logs cannot be trusted");
  }
  return LogDirectory(std::move(fd), path);
}

Result<LogDirectory> LogDirectory::open(const std::string& path) { return open_at(AT_FDCWD, path, path); }

Result<LogDirectory> LogDirectory::open_below(const std::string& name) const {
  return open_at(fd_.get(), name, path_ + "/" + name);
}

Result<std::vector<std::string>> LogDirectory::names() const {
  const int copy = openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy < 0 ? nullptr : fdopendir(copy);
  if (listing == nullptr) {
    const int error = errno;
    if (copy >= 0) close(copy);
    return Status::from_errno(error, "cannot list " + path_);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  const int error = errno;
  closedir(listing);
  // Else ledgers would be missing, and what they say that is drained would be replayed.
  if (error != 0) return Status::from_errno(error, "cannot list " + path_);
  std::sort(names.begin(), names.end());
  return names;
}

bool LogDirectory::has(const std::string& name) const {
  struct stat facts;
  return fstatat(fd_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::shared_ptr<MappedFile>> LogDirectory::map(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  // O_NONBLOCK: a FIFO of that name must not hang the caller.
  FileDescriptor fd(openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) return Status::from_errno(errno, "cannot open " + path);
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return Status::from_errno(errno, "cannot examine " + path);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid()) {
    return Status(Code::access, path + " is not a file of this user");
  }
  const auto size = static_cast<size_t>(facts.st_size);
  if (size == 0) return std::make_shared<MappedFile>(nullptr, 0);
  void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return Status::from_errno(errno, "cannot map " + path);
  return std::make_shared<MappedFile>(base, size);
}

Status LogDirectory::note_seen(const std::string& name) const {
  FileDescriptor fd(openat(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd.ok() && pmio::note_seen(fd.get())) return {};
  return Status::from_errno(errno, "cannot write " + path_ + "/" + name);
}

Status LogDirectory::remove(const std::string& name) const {
  if (unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return Status::from_errno(errno, "cannot remove " + path_ + "/" + name);
}

Status LogDirectory::remove_directory(const std::string& name) const {
  if (unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return Status::from_errno(errno, "cannot remove the directory " + path_ + "/" + name);
}

Status LogDirectory::rename(const std::string& from, const std::string& to) const {
  if (renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0) return {};
  return Status::from_errno(errno, "cannot rename " + path_ + "/" + from + " to " + to);
}

Status LogDirectory::sync() const {
  // tmpfs has nothing to sync and says so with EINVAL on some kernels.
  if (fsync(fd_.get()) == 0 || errno == EINVAL) return {};
  return Status::from_errno(errno, "cannot sync " + path_);
}

}  // namespace pmio
