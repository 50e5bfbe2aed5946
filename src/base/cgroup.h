// Where to read the memory limits of a process's control groups, and what their files say. The functions take
// the texts of /proc/self/cgroup and /proc/self/mountinfo (cgroups(7), proc(5)) and of a group's files. Any
// other text gives nothing. Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmio {

// The groups of a process, as absolute paths within their hierarchies; nothing: it has none.
struct CgroupPaths {
  std::optional<std::string> memory;   // version 1: of the hierarchy that counts memory
  std::optional<std::string> unified;  // version 2
};
CgroupPaths cgroup_paths(std::string_view proc_cgroup);

// A mounted hierarchy that may count memory.
struct CgroupMount {
  bool unified = false;  // version 2
  std::string root;      // the group that the mount point shows
  std::string point;
};
std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo);

// Whether a path names a group that can be seen below the mount point.
bool cgroup_shown(const CgroupMount& mount, std::string_view path);

// The directories of a group and of the groups above it, as far as they can be seen, its own first. If the
// group is not shown, another namespace has named it: then the mount point shows all that there is.
std::vector<std::string> cgroup_directories(const CgroupMount& mount, std::string_view path);

// The number in a limit's file; nothing: there is no limit. That is "max", or version 1's number with that
// meaning.
std::optional<uint64_t> cgroup_limit(std::string_view text);

// The value in memory.stat behind a key at the beginning of a line.
std::optional<uint64_t> cgroup_stat(std::string_view memory_stat, std::string_view key);
// How much of the memory that a group uses the kernel can take back at once: clean pages of files. Pages of a
// tmpfs are not among these, because memory.stat counts them as anonymous; nor are pages that must be written
// first.
uint64_t cgroup_reclaimable(std::string_view memory_stat, bool unified);

}  // namespace pmio
