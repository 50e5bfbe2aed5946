#include "node/shared_pointer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"
#include "base/memory_limits.h"

namespace pmio {
namespace {

constexpr size_t kFileBytes = 4096;

int lock_file(int fd, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  int result;
  do {
    result = fcntl(fd, F_OFD_SETLKW, &lock);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

// The mutex, and with it the file.
class PMIO_SCOPED_CAPABILITY SharedPointer::Locked {
 public:
  explicit Locked(SharedPointer& pointer) PMIO_ACQUIRE(pointer.mutex_) : guard_(pointer.mutex_), fd_(-1) {
    status_ = pointer.map();
    if (status_.ok() && lock_file(pointer.fd_, F_WRLCK) != 0) {
      status_ = Status::from_errno(errno, "cannot lock the shared file pointer " + pointer.path_);
    }
    if (status_.ok()) fd_ = pointer.fd_;
  }
  ~Locked() PMIO_RELEASE() {
    if (fd_ >= 0) lock_file(fd_, F_UNLCK);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  const Status& status() const { return status_; }

 private:
  LockGuard<Mutex> guard_;
  int fd_;
  Status status_;
};

SharedPointer::~SharedPointer() {
  if (slots_ != nullptr) munmap(slots_, kFileBytes);
  if (fd_ >= 0) close(fd_);
}

// A new file is all zeros, which is a valid state, so creating it needs no care.
Status SharedPointer::map() {
  if (slots_ != nullptr) return {};
  if (fd_ < 0)
    fd_ = out_of_the_way(FileDescriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)))
              .release();
  if (fd_ < 0) return Status::from_errno(errno, "cannot create the shared file pointer " + path_);
  // Reserved, since a store into a page that a full tmpfs cannot provide would be a SIGBUS.
  const bool may_be = kFileBytes <= largest_file_bytes();  // else a signal would end the program
  if (const int error = may_be ? posix_fallocate(fd_, 0, kFileBytes) : EFBIG; error != 0) {
    return Status::from_errno(error, "cannot reserve the shared file pointer " + path_);
  }
  void* memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return Status::from_errno(errno, "cannot map the shared file pointer " + path_);
  slots_ = static_cast<EpochSlots*>(memory);
  return {};
}

Result<int64_t> SharedPointer::fetch_add(uint64_t epoch, int64_t initial, int64_t by) {
  const Locked locked(*this);
  PMIO_TRY(locked.status());
  return slots_->fetch_add(epoch, initial, by);
}

Status SharedPointer::store(uint64_t epoch, int64_t value) {
  const Locked locked(*this);
  PMIO_TRY(locked.status());
  slots_->store(epoch, value);
  return {};
}

void SharedPointer::remove() { unlink(path_.c_str()); }

}  // namespace pmio
