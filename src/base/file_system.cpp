#include "base/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/file_descriptor.h"
#include "base/mutex.h"

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

std::string name_of(uint32_t type) {
  for (const FileSystemName& known : kFileSystems)
    if (known.type == type) return known.name;
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", type);
  return text;
}

// Clients that mount by the older way of libfuse have the source "mfs#master:9421" and the type "fuse".
std::string with_subtype(const std::string& type, const std::string& source) {
  constexpr std::string_view kEscapedHash = "\\043";
  const size_t hash = source.find(kEscapedHash);
  if (type != "fuse" || hash == 0 || hash == source.npos) return type;
  return type + "." + source.substr(0, hash);
}

}  // namespace

bool shows_other_nodes(std::string_view file_system) {
  // Those that the testbed can mount, and the same by the kernel's client.
  constexpr std::array<std::string_view, 3> kKnown{"fuse.mfs", "fuse.ceph-fuse", "ceph"};
  return std::find(kKnown.begin(), kKnown.end(), file_system) != kKnown.end();
}

bool is_untried(std::string_view file_system) { return file_system == "lustre" || file_system == "gpfs"; }

bool is_local(std::string_view file_system) {
  constexpr std::array<std::string_view, 5> kKnown{"ext4", "xfs", "btrfs", "tmpfs", "overlay"};
  return std::find(kKnown.begin(), kKnown.end(), file_system) != kKnown.end();
}

bool is_memory(std::string_view file_system) { return file_system == "tmpfs" || file_system == "ramfs"; }

bool tells_of_writes(std::string_view file_system) {
  // Ceph's servers call back what a client knows of a file's times before they answer another client.
  return is_local(file_system) || file_system == "ceph" || file_system == "fuse.ceph-fuse";
}

std::string mounted_type(std::string_view mountinfo, dev_t device) {
  const std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  std::istringstream lines{std::string(mountinfo)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string id, parent, number, field;
    fields >> id >> parent >> number;
    if (number != wanted) continue;
    while (fields >> field && field != "-") {
    }
    std::string type, source;
    fields >> type >> source;
    return with_subtype(type, source);
  }
  return {};
}

std::optional<Mount> find_mount(std::string_view mountinfo, int number) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Mount mount;
    int found = -1;
    std::string parent, device, root, field;
    fields >> found >> parent >> device >> root >> mount.point >> mount.options;
    if (found != number) continue;
    while (fields >> field && field != "-") {
    }
    fields >> mount.type >> mount.source >> field;
    if (!fields) return std::nullopt;
    mount.options += "," + field;
    return mount;
  }
  return std::nullopt;
}

std::optional<Mount> mount_of(int fd) {
  std::ifstream facts("/proc/self/fdinfo/" + std::to_string(fd));
  std::string key;
  int number = -1;
  while (facts >> key && key != "mnt_id:") {
  }
  if (!(facts >> number)) return std::nullopt;
  std::ifstream mounts("/proc/self/mountinfo");
  return find_mount(std::string((std::istreambuf_iterator<char>(mounts)), {}), number);
}

Status locks_hold_on_all_nodes(const Mount& mount) {
  const auto has = [options = "," + mount.options + ","](const char* option) {
    return options.find(std::string(",") + option + ",") != std::string::npos;
  };
  if (mount.type != "lustre" || (has("flock") && !has("localflock"))) return {};
  return {Code::unsupported,
          "'" + mount.source + "' is mounted " +
              (has("localflock") ? "with the option 'localflock'" : "without the option 'flock'") +
              ", so that no lock holds on several nodes: mount it with 'flock'"};
}

std::string file_system_of(int fd) {
  struct statfs facts;
  if (fstatfs(fd, &facts) != 0) return {};
  std::string name = name_of(static_cast<uint32_t>(facts.f_type));
  struct stat file;
  if (name != "fuse" || fstat(fd, &file) != 0) return name;
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string text((std::istreambuf_iterator<char>(mounts)), {});
  const std::string type = mounted_type(text, file.st_dev);
  return type.empty() ? name : type;
}

// The file system's name by device. ask: finds the name if the device is not known yet.
template <class Ask>
static std::string known_file_system(uint64_t device, const Ask& ask) {
  struct Known {
    Mutex mutex;
    std::map<uint64_t, std::string> names PMIO_GUARDED_BY(mutex);
  };
  static Known& known = *new Known;
  const LockGuard lock(known.mutex);
  std::string& name = known.names[device];
  if (name.empty()) name = ask();
  return name;
}

std::string file_system_of(int fd, uint64_t device) {
  return known_file_system(device, [fd] { return file_system_of(fd); });
}

std::string file_system_at(const std::string& path, uint64_t device) {
  return known_file_system(device, [&path] {
    const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
    return file.ok() ? file_system_of(file.get()) : std::string();
  });
}

}  // namespace pmio
