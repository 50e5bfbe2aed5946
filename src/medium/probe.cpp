// What a directory's file system is.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "medium/directory.h"
#include "medium/medium.h"

namespace pmio {

namespace {

struct FileSystemName {
  uint32_t type;
  const char* name;
};
constexpr FileSystemName kFileSystems[] = {
    {0x01021994, "tmpfs"},   {0x858458f6, "ramfs"},    {0xef53, "ext4"},     {0x58465342, "xfs"},
    {0x9123683e, "btrfs"},   {0x2fc12fc1, "zfs"},      {0x6969, "nfs"},      {0x0bd00bd0, "lustre"},
    {0x794c7630, "overlay"}, {0x00c36400, "ceph"},     {0x65735546, "fuse"}, {0x47504653, "gpfs"},
    {0x19830326, "beegfs"},  {0x20030528, "orangefs"}, {0xf2f52010, "f2fs"},
};

std::string file_system_name(uint32_t type) {
  for (const FileSystemName& known : kFileSystems)
    if (known.type == type) return known.name;
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", type);
  return text;
}

// Only a mapping tells for sure: mount options may say dax=inode, or promise what the device cannot do.
bool maps_sync(int directory) {
  const FileDescriptor file(openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  constexpr size_t kBytes = 4096;
  if (!file.ok() || posix_fallocate(file.get(), 0, kBytes) != 0) return false;
  void* address =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file.get(), 0);
  if (address == MAP_FAILED) return false;
  munmap(address, kBytes);
  return true;
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

Result<MediumFacts> probe_medium(const std::string& directory) {
  const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs facts;
  if (!fd.ok() || fstatfs(fd.get(), &facts) != 0)
    return Status::from_errno(errno, "log directory " + directory);
  MediumFacts result;
  result.file_system = file_system_name(static_cast<uint32_t>(facts.f_type));
  result.free_bytes = static_cast<uint64_t>(facts.f_bavail) * static_cast<uint64_t>(facts.f_bsize);
  const bool in_memory = result.file_system == "tmpfs" || result.file_system == "ramfs";
  result.map_sync = !in_memory && maps_sync(fd.get());
  result.kind = in_memory ? MediumKind::tmpfs : result.map_sync ? MediumKind::dax : MediumKind::disk;
  return result;
}

}  // namespace pmio
