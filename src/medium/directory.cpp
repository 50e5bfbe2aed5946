#include "medium/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/memory_limits.h"
#include "medium/populate.h"

namespace pmio {

namespace {

Status check_name(std::string_view name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
                     name.find('/') == name.npos && name.find('\0') == name.npos;
  if (plain) return Status();
  return Status(Code::invalid, "not a file name inside the log directory: \"" + std::string(name) + "\"");
}

Status check_owner(const struct stat& facts, const std::string& path) {
  if (facts.st_uid != geteuid())
    return Status(Code::access, "log directory " + path + " belongs to user id " +
                                    std::to_string(facts.st_uid) +
                                    ", not to you; name a directory of your own, for example " + path +
                                    "/pmio-" + std::to_string(geteuid()) + ", in PMIO_DIR");
  if ((facts.st_mode & 0777) != 0700)
    return Status(Code::access,
                  "log directory " + path + " must be accessible to its owner only; run: chmod 700 " + path);
  return Status();
}

Status open_error(int system_errno, const std::string& path) {
  switch (system_errno) {
    case ELOOP:
    case ENOTDIR:
      return Status(
          Code::access,
          "log directory " + path + " is a symbolic link or not a directory; name the directory itself",
          system_errno);
    case ENOENT:
      return Status(Code::io,
                    "log directory " + path + ": its parent directory does not exist; create it first",
                    system_errno);
    default:
      return Status::from_errno(system_errno, "log directory " + path);
  }
}

// For a file system that cannot reserve: bytes that were written have their blocks.
int write_zeros(int fd, size_t begin, size_t length) {
  const std::vector<char> zeros(size_t{1} << 20);
  for (size_t done = 0; done < length;) {
    const size_t ask = std::min(zeros.size(), length - done);
    const ssize_t n = pwrite(fd, zeros.data(), ask, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    done += static_cast<size_t>(n);
  }
  return 0;
}

// Touches all pages by a mapping that asks for huge pages, or for none. Returns an errno; EINVAL: the kernel
// cannot do that.
int populate(int fd, size_t size_bytes, bool with_huge_pages) {
  if (ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) return errno;
  void* const mapped = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return errno;
  int error =
      madvise(mapped, size_bytes, with_huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0 ? 0 : EINVAL;
  for (size_t done = 0; error == 0 && done < size_bytes;) {
    const size_t step = std::min(kHugePageBytes, size_bytes - done);
    if (madvise(static_cast<char*>(mapped) + done, step, MADV_POPULATE_WRITE) == 0) {
      done += step;
    } else if (errno != EINTR && errno != EAGAIN) {
      error = errno == EINVAL ? EINVAL : ENOSPC;  // EFAULT: a store would raise a signal
    }
  }
  munmap(mapped, size_bytes);
  return error;
}

// It reserves in steps, because tmpfs undoes a reservation that a signal interrupts. While a profiler's timer
// runs, one call for everything might never finish.
int reserve(int fd, size_t size_bytes, HugePages huge) {
  // If a file grows beyond its limit, a signal ends the program.
  if (size_bytes > largest_file_bytes()) return EFBIG;
  struct statvfs facts;
  // The free space is asked for first, so that a hopeless wish does not fill the file system before its
  // error.
  if (fstatvfs(fd, &facts) == 0 && size_bytes / facts.f_frsize > facts.f_bavail) return ENOSPC;
  // posix_fallocate heeds no advice.
  const bool is_small = size_bytes < kHugePageBytes;
  if (huge == (is_small ? HugePages::always : HugePages::advise)) {
    if (const int error = populate(fd, size_bytes, !is_small); error != EINVAL) return error;
  }
  // Before the bytes are reserved: they get the pages that fit the size.
  if (huge != HugePages::none && ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) return errno;
  constexpr size_t kStep = size_t{16} << 20;
  for (size_t done = 0; done < size_bytes;) {
    const size_t step = std::min(kStep, size_bytes - done);
    int error = posix_fallocate(fd, static_cast<off_t>(done), static_cast<off_t>(step));
    if (error == EINTR) continue;
    if (error == EOPNOTSUPP || error == ENOSYS) error = write_zeros(fd, done, step);
    if (error != 0) return error;
    done += step;
  }
  return 0;
}

Status create_error(int system_errno, const std::string& path, size_t size_bytes) {
  Status plain = Status::from_errno(system_errno, path);
  if (system_errno == EFBIG)
    return Status(Code::no_space, plain.message() + ": raise 'ulimit -f'", system_errno);
  if (plain.code() != Code::no_space && plain.code() != Code::quota) return plain;
  return Status(
      plain.code(),
      plain.message() + "; " + std::to_string(size_bytes) +
          " bytes were to be reserved: free some space, lower pmio_log_size or choose another PMIO_DIR",
      system_errno);
}

// The size and the mode are right before anybody can see the file.
int prepare(int fd, size_t size_bytes, HugePages huge) {
  if (fchmod(fd, 0600) != 0) return errno;  // whatever the umask was
  return reserve(fd, size_bytes, huge);
}

int link_unnamed(int fd, int directory, const char* name) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return linkat(AT_FDCWD, self.c_str(), directory, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace

int sync_directory(int at, const char* path) {
  const FileDescriptor directory(openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.ok()) return errno == EACCES ? 0 : errno;
  return fsync(directory.get()) == 0 || errno == EINVAL ? 0 : errno;
}

Result<Directory> Directory::open(const std::string& path) {
  if (path.empty()) return Status(Code::invalid, "the log directory is an empty name; set PMIO_DIR");
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();  // "link/" would follow the link
  Directory result;
  result.created_ = ::mkdir(plain.c_str(), 0700) == 0;
  if (!result.created_ && errno != EEXIST) return open_error(errno, plain);
  result.path_ = plain;
  result.fd_ = FileDescriptor(::open(plain.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!result.fd_.ok()) return open_error(errno, plain);
  if (result.created_ && fchmod(result.fd(), 0700) != 0)
    return Status::from_errno(errno, "chmod 700 " + plain);
  struct stat facts;
  if (fstat(result.fd(), &facts) != 0) return Status::from_errno(errno, "log directory " + plain);
  PMIO_TRY(check_owner(facts, plain));
  return result;
}

Result<FileDescriptor> Directory::create_file(std::string_view name, size_t size_bytes) const {
  PMIO_TRY(check_name(name));
  const std::string file(name);
  const std::string full = path_ + "/" + file;
  FileDescriptor unnamed(openat(fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (unnamed.ok()) {
    if (const int error = prepare(unnamed.get(), size_bytes, huge_))
      return create_error(error, full, size_bytes);
    const int error = link_unnamed(unnamed.get(), fd(), file.c_str());
    if (error == 0) return unnamed;
    if (error == EEXIST) return create_error(error, full, size_bytes);
    // An unnamed file cannot be linked without /proc: go on below.
  }
  FileDescriptor named(openat(fd(), file.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!named.ok()) return create_error(errno, full, size_bytes);
  const int error = prepare(named.get(), size_bytes, huge_);
  if (error == 0) return named;
  unlinkat(fd(), file.c_str(), 0);
  return create_error(error, full, size_bytes);
}

Result<Directory::OpenedFile> Directory::open_file(std::string_view name, bool read_only) const {
  PMIO_TRY(check_name(name));
  const std::string file(name);
  const std::string full = path_ + "/" + file;
  // O_NONBLOCK: a fifo planted here must not hang the open.
  const int flags = (read_only ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  OpenedFile opened{FileDescriptor(openat(fd(), file.c_str(), flags)), 0};
  if (!opened.fd.ok()) {
    if (errno == ELOOP) return Status(Code::access, full + " is a symbolic link; remove it", ELOOP);
    return Status::from_errno(errno, full);
  }
  struct stat facts;
  if (fstat(opened.fd.get(), &facts) != 0) return Status::from_errno(errno, full);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 077) != 0)
    return Status(Code::access, full +
                                    " is not a private file of yours: it has to be regular, of your user, "
                                    "and of mode 0600 ('chmod 600')");
  if (facts.st_size == 0) return Status(Code::corrupt, full + " is empty");
  opened.size_bytes = static_cast<size_t>(facts.st_size);
  return opened;
}

Status Directory::vacate_file(std::string_view name) const {
  auto file = open_file(name, false);
  if (!file.ok()) return file.status();
  const auto size = static_cast<off_t>(file->size_bytes);
  if (fallocate(file->fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size) == 0) return {};
  return Status::from_errno(errno, path_ + "/" + std::string(name));
}

Status Directory::reserve_file(const FileDescriptor& file, std::string_view name, size_t size_bytes) const {
  const int error = reserve(file.get(), size_bytes, huge_);
  return error == 0 ? Status() : create_error(error, path_ + "/" + std::string(name), size_bytes);
}

Status Directory::remove_file(std::string_view name) const {
  PMIO_TRY(check_name(name));
  const std::string file(name);
  if (unlinkat(fd(), file.c_str(), 0) == 0 || errno == ENOENT) return Status();
  return Status::from_errno(errno, path_ + "/" + file);
}

Status Directory::rename_file(std::string_view from, std::string_view to) const {
  PMIO_TRY(check_name(from));
  PMIO_TRY(check_name(to));
  const std::string old(from), wanted(to);
  if (renameat2(fd(), old.c_str(), fd(), wanted.c_str(), RENAME_NOREPLACE) == 0) return Status();
  return Status::from_errno(errno, path_ + "/" + old);
}

Result<std::vector<std::string>> Directory::list() const {
  // It takes a descriptor of its own, because the read position belongs to the open file description.
  const int own = openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return Status::from_errno(errno, path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own), closedir);
  if (!stream) {
    const int error = errno;
    ::close(own);
    return Status::from_errno(error, path_);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return Status::from_errno(errno, path_);
  std::sort(names.begin(), names.end());
  return names;
}

Status Directory::sync_new_name() const {
  if (!created_) return {};
  const int error = sync_directory(fd(), "..");
  return error == 0 ? Status() : Status::from_errno(error, "fsync of the directory above " + path_);
}

Status Directory::sync() const {
  if (fsync(fd()) == 0) return Status();
  return Status::from_errno(errno, "fsync " + path_);
}

}  // namespace pmio
