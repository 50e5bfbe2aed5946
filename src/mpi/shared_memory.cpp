#include "mpi/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"
#include "base/memory_limits.h"

namespace pmio {
namespace {

Shared map(int fd, uint64_t bytes, const std::string& name) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return Status::from_errno(errno, "cannot map the shared memory '" + name + "'");
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(address),
                                    [bytes](std::byte* memory) { munmap(memory, bytes); });
}

// Reserved, or the first touch of a full file system would be fatal.
Shared create_shared(const std::string& name, uint64_t bytes) {
  const FileDescriptor fd(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.ok()) return Status::from_errno(errno, "cannot create the shared memory '" + name + "'");
  const bool may_be = bytes <= largest_file_bytes();  // else a signal would end the program
  if (const int error = may_be ? posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)) : EFBIG)
    return Status::from_errno(error, "cannot reserve the shared memory '" + name + "'");
  return map(fd.get(), bytes, name);
}

Shared open_shared(const std::string& name, uint64_t bytes) {
  const FileDescriptor fd(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!fd.ok()) return Status::from_errno(errno, "cannot open the shared memory '" + name + "'");
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0 || facts.st_uid != geteuid() ||
      static_cast<uint64_t>(facts.st_size) != bytes)
    return Status(Code::access, "the shared memory '" + name + "' is not this file's");
  return map(fd.get(), bytes, name);
}

}  // namespace

Shared MemoryPlace::create(const std::string& name, uint64_t bytes) {
  return create_shared("/" + name, bytes);
}
Shared MemoryPlace::open(const std::string& name, uint64_t bytes) { return open_shared("/" + name, bytes); }
void MemoryPlace::remove(const std::string& name) { shm_unlink(("/" + name).c_str()); }

Shared share_in(SharedPlace& place, const std::string& name, uint64_t bytes, bool creates,
                const std::function<bool()>& barrier, const std::function<bool(bool)>& on_all, bool* all) {
  Shared memory = Status(Code::io, "the other ranks of the node are not reached");
  if (creates) memory = place.create(name, bytes);
  // From here on it is there, or will not be.
  if (barrier() && !creates) memory = place.open(name, bytes);
  *all = on_all(memory.ok());
  if (creates) place.remove(name);
  return memory;
}

}  // namespace pmio
