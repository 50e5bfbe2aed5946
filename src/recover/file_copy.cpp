#include "recover/file_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/file_buffer.h"
#include "base/file_descriptor.h"

namespace pmio {
namespace {

constexpr size_t kCopiedAtOnce = size_t{4} << 20;

Status refuse_existing(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return {};
  return {Code::access, path + " is there already, and is not written over; name another one", EEXIST};
}

// [begin, end) of the original, which has data there.
Status copy_data(TargetFile& from, TargetFile& to, uint64_t begin, uint64_t end, FileBuffer& buffer) {
  while (begin < end) {
    std::byte* const memory = buffer.at(begin);
    uint64_t got = 0;
    PMIO_TRY(from.read(begin, memory, std::min<uint64_t>(kCopiedAtOnce, end - begin), &got));
    if (got == 0) return {};  // somebody has truncated it meanwhile
    PMIO_TRY(to.write(begin, memory, got));
    begin += got;
  }
  return {};
}

Status copy_file(TargetFile& from, TargetFile& to) {
  auto size = from.size_bytes();
  if (!size.ok()) return size.status();
  if (ftruncate(to.fd(), static_cast<off_t>(*size)) != 0)
    return Status::from_errno(errno, "cannot make " + to.path() + " as large as its original");
  FileBuffer buffer(kCopiedAtOnce);
  for (uint64_t at = 0; at < *size;) {
    const off_t data = lseek(from.fd(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole up to the end
    // A file system that tells of no holes has none.
    const uint64_t begin = data < 0 ? at : static_cast<uint64_t>(data);
    const off_t hole = data < 0 ? -1 : lseek(from.fd(), data, SEEK_HOLE);
    const uint64_t end = hole < 0 ? *size : std::min(*size, static_cast<uint64_t>(hole));
    PMIO_TRY(copy_data(from, to, begin, end, buffer));
    at = end;
  }
  return {};
}

}  // namespace

FileCopy::~FileCopy() {
  if (begun() && !finished_) abandon();
}

void FileCopy::abandon() {
  unlink(part_.c_str());
  target_.reset();
  abandoned_ = true;
}

Result<TargetFile*> FileCopy::open(TargetFile* original) {
  if (begun()) return target_.get();
  if (abandoned_) return Status(Code::busy, path_ + " could not be made");
  PMIO_TRY(refuse_existing(path_));
  mode_t mode = 0600;
  struct stat facts {};
  if (original != nullptr && fstat(original->fd(), &facts) == 0) mode = facts.st_mode & 0777;
  unlink(part_.c_str());  // of one that was interrupted
  {
    const FileDescriptor made(
        ::open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode | S_IRUSR | S_IWUSR));
    if (!made.ok()) return Status::from_errno(errno, "cannot create " + part_);
  }
  auto opened = TargetFile::open(part_, TargetFile::Access::read_write);
  if (!opened.ok()) return opened.status();
  target_ = std::move(opened).value();
  Status copied = original == nullptr ? Status() : copy_file(*original, *target_);
  if (copied.ok()) return target_.get();
  abandon();
  return copied;
}

Status FileCopy::finish() {
  if (!begun()) return {};
  PMIO_TRY(target_->sync());
  PMIO_TRY(refuse_existing(path_));
  if (std::rename(part_.c_str(), path_.c_str()) != 0)
    return Status::from_errno(errno, "cannot rename " + part_ + " to " + path_);
  finished_ = true;
  return target_->sync_name();
}

}  // namespace pmio
