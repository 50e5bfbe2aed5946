// Where the memory limits of a process's control groups are to be read, and what their files say: functions
// of the texts of /proc/self/cgroup and /proc/self/mountinfo (cgroups(7), proc(5)) and of a group's files.
// Text that is none of these gives nothing. Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmio {

// The groups of a process, as absolute paths within their hierarchies; nothing where it has none.
struct CgroupPaths {
  std::optional<std::string> memory;   // version 1, of the hierarchy that counts memory
  std::optional<std::string> unified;  // version 2
};
CgroupPaths cgroup_paths(std::string_view proc_cgroup);

// A mounted hierarchy that may count memory.
struct CgroupMount {
  bool unified = false;  // version 2
  std::string root;      // the group that is seen at the mount point
  std::string point;
};
std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo);

// Whether a path names a group that is seen below the mount point.
bool cgroup_shown(const CgroupMount& mount, std::string_view path);

// The directories of a group and of those above it, as far as they can be seen, its own first. One that is
// not shown is named by another namespace: then what is seen at the mount point is all that there is.
std::vector<std::string> cgroup_directories(const CgroupMount& mount, std::string_view path);

// The number in a limit's file; nothing where there is no limit: "max", and version 1's number of that
// meaning.
std::optional<uint64_t> cgroup_limit(std::string_view text);

// Of memory.stat: the value behind a key at the beginning of a line.
std::optional<uint64_t> cgroup_stat(std::string_view memory_stat, std::string_view key);
// What the kernel can take back at once of the memory that a group uses: clean pages of files. Not those of a
// tmpfs, which memory.stat counts among the anonymous ones, and not those that have to be written first.
uint64_t cgroup_reclaimable(std::string_view memory_stat, bool unified);

}  // namespace pmio
