#include "base/memory_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/cgroup.h"
#include "base/file_descriptor.h"

namespace pmio {
namespace {

constexpr uint64_t kMostKeptFree = uint64_t{8} << 30;
constexpr uint64_t kHeapAddresses = 128 << 20;  // glibc's malloc takes so many at once for a thread

std::optional<uint64_t> read_limit(const ReadFile& read, const std::string& path) {
  const auto text = read(path);
  return text ? cgroup_limit(*text) : std::nullopt;
}

void add(std::vector<MemoryLimit>& limits, const std::string& directory, uint64_t limit, uint64_t used) {
  limits.push_back(
      {MemoryLimit::Of::memory, "the memory cgroup " + directory, limit, limit - std::min(limit, used)});
}

// Version 2. memory.high does not kill, but slows down a process that exceeds it until it hardly runs.
void add_unified(const ReadFile& read, const std::string& directory, std::vector<MemoryLimit>& limits) {
  const uint64_t limit = std::min(read_limit(read, directory + "/memory.max").value_or(UINT64_MAX),
                                  read_limit(read, directory + "/memory.high").value_or(UINT64_MAX));
  if (limit == UINT64_MAX) return;
  const uint64_t used = read_limit(read, directory + "/memory.current").value_or(0);
  const uint64_t back = cgroup_reclaimable(read(directory + "/memory.stat").value_or(""), true);
  add(limits, directory, limit, used - std::min(used, back));
}

// Version 1. The own group tells the lowest limit of all groups above it, also of those that cannot be seen.
// memory.memsw limits memory and swap together: to swap a page out does not help there. Returns false if the
// own group tells that no group above it has a limit.
bool add_memory(const ReadFile& read, const std::string& directory, bool own,
                std::vector<MemoryLimit>& limits) {
  std::string stat = own ? read(directory + "/memory.stat").value_or("") : "";
  const auto lowest = [&](std::string_view key) -> std::optional<uint64_t> {
    const auto value = cgroup_stat(stat, key);
    return value ? std::optional(cgroup_limit(std::to_string(*value)).value_or(UINT64_MAX)) : std::nullopt;
  };
  const auto lowest_limit = lowest("hierarchical_memory_limit");
  const auto lowest_with_swap = lowest("hierarchical_memsw_limit");
  if (lowest_limit == UINT64_MAX && lowest_with_swap.value_or(UINT64_MAX) == UINT64_MAX) return false;

  const auto limit_in = [&](const char* file) {
    return read_limit(read, directory + file).value_or(UINT64_MAX);
  };
  const uint64_t limit = std::min(limit_in("/memory.limit_in_bytes"), lowest_limit.value_or(UINT64_MAX));
  const uint64_t with_swap =
      std::min(limit_in("/memory.memsw.limit_in_bytes"), lowest_with_swap.value_or(UINT64_MAX));
  if (limit == UINT64_MAX && with_swap == UINT64_MAX) return true;
  if (!own) stat = read(directory + "/memory.stat").value_or("");
  const uint64_t back = cgroup_reclaimable(stat, false);
  const auto add_one = [&](uint64_t of, const char* usage) {
    if (of == UINT64_MAX) return;
    const uint64_t used = read_limit(read, directory + usage).value_or(0);
    add(limits, directory, of, used - std::min(used, back));
  };
  add_one(limit, "/memory.usage_in_bytes");
  add_one(with_swap, "/memory.memsw.usage_in_bytes");
  return true;
}

// The value of a line of /proc/meminfo or /proc/self/status: "MemAvailable:   123 kB".
std::optional<uint64_t> kilobytes(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    uint64_t value = 0;
    bool any = false;
    for (const char c : line) {
      if (c >= '0' && c <= '9') {
        value = value * 10 + static_cast<uint64_t>(c - '0');
        any = true;
      } else if (any) {
        break;
      }
    }
    if (any) return value * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.ok()) return std::nullopt;
  std::string text;
  for (char part[4096];;) {
    const ssize_t n = read(file.get(), part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(part, static_cast<size_t>(n));
  }
}

uint64_t kept_free(const MemoryLimit& limit) {
  const uint64_t least = limit.of == MemoryLimit::Of::addresses ? kHeapAddresses : 0;
  return std::max(least, std::min(limit.limit_bytes / 8, kMostKeptFree));
}

uint64_t room_bytes(std::span<const MemoryLimit> limits, Keep keep, const MemoryLimit** tightest) {
  uint64_t room = UINT64_MAX;
  for (const MemoryLimit& limit : limits) {
    const uint64_t kept = keep == Keep::all ? kept_free(limit) : kept_free(limit) / 2;
    const uint64_t more = limit.left_bytes - std::min(limit.left_bytes, kept);
    if (more >= room) continue;
    room = more;
    if (tightest != nullptr) *tightest = &limit;
  }
  return room;
}

std::vector<MemoryLimit> memory_limits(const ReadFile& read) {
  std::vector<MemoryLimit> limits;
  const CgroupPaths paths = cgroup_paths(read("/proc/self/cgroup").value_or(""));
  auto mounts = cgroup_mounts(read("/proc/self/mountinfo").value_or(""));
  const auto path_in = [&](const CgroupMount& mount) { return mount.unified ? paths.unified : paths.memory; };
  // A hierarchy may be mounted more than once, in a container also as other namespaces see it.
  std::stable_partition(mounts.begin(), mounts.end(), [&](const CgroupMount& mount) {
    return cgroup_shown(mount, path_in(mount).value_or(""));
  });
  bool found[2] = {false, false};
  for (const CgroupMount& mount : mounts) {
    const auto path = path_in(mount);
    if (!path || found[mount.unified]) continue;
    for (const std::string& directory : cgroup_directories(mount, *path)) {
      const bool own = !found[mount.unified];
      const bool is_there =
          read(directory + (mount.unified ? "/cgroup.controllers" : "/memory.usage_in_bytes")).has_value();
      if (own && !is_there && directory != mount.point) continue;  // the name is of another namespace
      found[mount.unified] = found[mount.unified] || is_there;
      if (mount.unified)
        add_unified(read, directory, limits);
      else if (!add_memory(read, directory, own, limits))
        break;
    }
  }
  const std::string node = read("/proc/meminfo").value_or("");
  const auto all = kilobytes(node, "MemTotal:"), left = kilobytes(node, "MemAvailable:");
  if (all && left) limits.push_back({MemoryLimit::Of::memory, "the memory of this node", *all, *left});
  return limits;
}

std::optional<MemoryLimit> file_system_limit(const std::string& directory) {
  struct statvfs facts {};
  if (statvfs(directory.c_str(), &facts) != 0 || facts.f_blocks == 0) return std::nullopt;
  return MemoryLimit{MemoryLimit::Of::file_system, "the file system of " + directory,
                     facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize};
}

std::optional<MemoryLimit> address_limit(const ReadFile& read) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const uint64_t used = kilobytes(read("/proc/self/status").value_or(""), "VmSize:").value_or(0);
  return MemoryLimit{MemoryLimit::Of::addresses, "'ulimit -v'", limit.rlim_cur,
                     limit.rlim_cur - std::min<uint64_t>(limit.rlim_cur, used)};
}

uint64_t largest_file_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

}  // namespace pmio
