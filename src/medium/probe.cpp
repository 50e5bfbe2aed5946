// Finds out what a directory's file system is.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/file_system.h"
#include "medium/directory.h"
#include "medium/medium.h"

namespace pmio {

namespace {

// Only a mapping tells it for sure: mount options may say dax=inode, or promise what the device cannot do.
// Nothing: no file can be made there.
std::optional<bool> maps_sync(int directory) {
  const FileDescriptor file(openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  constexpr size_t kBytes = 4096;
  if (!file.ok() || posix_fallocate(file.get(), 0, kBytes) != 0) return {};
  void* address =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file.get(), 0);
  if (address == MAP_FAILED) return false;
  munmap(address, kBytes);
  return true;
}

// The directory, or the nearest above it that is there.
FileDescriptor open_nearest(std::string path) {
  FileDescriptor opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  while (!opened.ok() && path.size() > 1) {
    path.resize(std::max<size_t>(path.rfind('/'), 1));  // the path is absolute
    opened = FileDescriptor(::open(path.c_str(), O_PATH | O_CLOEXEC));
  }
  return opened;
}

}  // namespace

const char* medium_kind_name(MediumKind kind) {
  switch (kind) {
    case MediumKind::tmpfs:
      return "tmpfs";
    case MediumKind::disk:
      return "disk";
    case MediumKind::dax:
      return "dax";
  }
  return "unknown";
}

const char* durability_name(Durability durability) {
  switch (durability) {
    case Durability::always:
      return "always";
    case Durability::sync:
      return "sync";
    case Durability::none:
      return "none";
  }
  return "unknown";
}

bool outlives_power(MediumKind kind, Durability durability) {
  return kind == MediumKind::dax || (kind == MediumKind::disk && durability != Durability::none);
}

Result<uint64_t> free_bytes_in(const std::string& directory) {
  struct statfs facts;
  if (statfs(directory.c_str(), &facts) != 0) return Status::from_errno(errno, "log directory " + directory);
  return static_cast<uint64_t>(facts.f_bavail) * static_cast<uint64_t>(facts.f_bsize);
}

Result<MediumFacts> probe_medium(const std::string& directory) {
  const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok()) return Status::from_errno(errno, "log directory " + directory);
  const auto free = free_bytes_in(directory);
  if (!free.ok()) return free.status();
  MediumFacts result;
  result.file_system = file_system_of(fd.get());
  result.free_bytes = free.value();
  const bool in_memory = is_memory(result.file_system);
  if (result.file_system == "tmpfs") result.huge = huge_pages_of(fd.get());
  result.map_sync = !in_memory && maps_sync(fd.get()).value_or(false);
  result.kind = in_memory ? MediumKind::tmpfs : result.map_sync ? MediumKind::dax : MediumKind::disk;
  return result;
}

bool may_outlive_power(const std::string& directory, Durability durability) {
  const FileDescriptor place = open_nearest(directory);
  if (!place.ok()) return true;
  if (is_memory(file_system_of(place.get()))) return false;
  return durability != Durability::none || maps_sync(place.get()).value_or(true);
}

}  // namespace pmio
