#include "system_calls.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <cerrno>

#include "machine.h"

using pmio::fault::Event;
using pmio::fault::Machine;

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {
ssize_t __real_pwrite(int fd, const void* data, size_t length, off_t offset);
ssize_t __real_pwritev(int fd, const iovec* parts, int count, off_t offset);
int __real_ftruncate(int fd, off_t size);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_unlinkat(int directory, const char* name, int flags);

// In two halves, so that a crash may come between them.
ssize_t __wrap_pwrite(int fd, const void* data, size_t length, off_t offset) {
  Machine* machine = Machine::running();
  if (machine == nullptr || !machine->is_target(fd)) return __real_pwrite(fd, data, length, offset);
  if (machine->happens(Event::write)) {
    errno = EIO;
    return -1;
  }
  const size_t half = length / 2;
  const auto* from = static_cast<const std::byte*>(data);
  if (half > 0) {
    if (__real_pwrite(fd, from, half, offset) != static_cast<ssize_t>(half)) return -1;
    machine->wrote(fd, from, half, offset);
    machine->happens(Event::write);
  }
  const ssize_t rest = __real_pwrite(fd, from + half, length - half, offset + static_cast<off_t>(half));
  if (rest < 0) return -1;
  machine->wrote(fd, from + half, static_cast<size_t>(rest), offset + static_cast<off_t>(half));
  return static_cast<ssize_t>(half) + rest;
}

ssize_t __wrap_pwritev(int fd, const iovec* parts, int count, off_t offset) {
  Machine* machine = Machine::running();
  if (machine == nullptr || !machine->is_target(fd)) return __real_pwritev(fd, parts, count, offset);
  ssize_t all = 0;
  for (const iovec* part = parts; part != parts + count; ++part) {
    const ssize_t written = __wrap_pwrite(fd, part->iov_base, part->iov_len, offset + all);
    if (written < 0) return all > 0 ? all : -1;
    all += written;
    if (static_cast<size_t>(written) < part->iov_len) break;
  }
  return all;
}

int __wrap_ftruncate(int fd, off_t size) {
  Machine* machine = Machine::running();
  if (machine == nullptr || !machine->is_target(fd)) return __real_ftruncate(fd, size);
  machine->happens(Event::write);
  const int result = __real_ftruncate(fd, size);
  if (result == 0) machine->truncated(fd, size);
  return result;
}

int __wrap_fdatasync(int fd) {
  Machine* machine = Machine::running();
  if (machine == nullptr || !machine->is_target(fd)) return __real_fdatasync(fd);
  if (machine->happens(Event::write_sync)) {
    errno = EIO;
    return -1;
  }
  machine->target_synced();
  return 0;
}

int __wrap_fsync(int fd) {
  Machine* machine = Machine::running();
  if (machine != nullptr && machine->is_directory(fd)) {
    machine->happens(Event::sync);
    machine->names_synced();
  }
  return __real_fsync(fd);
}

int __wrap_unlinkat(int directory, const char* name, int flags) {
  Machine* machine = Machine::running();
  if (machine == nullptr || !machine->is_directory(directory)) return __real_unlinkat(directory, name, flags);
  machine->happens(Event::remove);
  const int result = __real_unlinkat(directory, name, flags);
  if (result == 0) machine->removed(name);
  return result;
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace pmio::fault {

ssize_t real_pwrite(int fd, const void* data, size_t length, off_t offset) {
  return __real_pwrite(fd, data, length, offset);
}
int real_ftruncate(int fd, off_t size) { return __real_ftruncate(fd, size); }

}  // namespace pmio::fault
