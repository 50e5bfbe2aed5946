// What kind of file system an open file is on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pmio {

// "tmpfs", "ext4", "lustre"; of one that runs in user space also which, as in "fuse.glusterfs". Of one that
// is not known its number, "0x...". Empty where fstatfs fails, with errno set.
std::string file_system_of(int fd);

// The same by the device number of the file: asked once for each.
std::string file_system_of(int fd, uint64_t device);
// The same by the name of a file, which is opened only where nothing is known of its device; empty: it cannot
// be.
std::string file_system_at(const std::string& path, uint64_t device);

// Whether it is of this node alone, and keeps nothing back until a close.
bool is_local(std::string_view file_system);

// Whether what one node has written to a file of such a file system and sent on by fdatasync(2) is what
// another node reads, and fcntl(2) locks hold on all nodes: by what is known of it in its usual
// configuration.
bool shows_other_nodes(std::string_view file_system);

// Whether it promises all that pmio needs, and pmio was never seen on it: nothing is logged to it before
// somebody asks for that by name.
bool is_untried(std::string_view file_system);

// Whether a file's time of modification, asked for at an open, tells of all that other nodes have written and
// sent on by then. MooseFS's is not such a time (decision 0012).
bool tells_of_writes(std::string_view file_system);

// A line of /proc/self/mountinfo (proc(5)).
struct Mount {
  std::string type, source;  // as there
  std::string options;       // of the mount and of the file system, separated by commas
};
// The one of this number, its first field, in that text.
std::optional<Mount> find_mount(std::string_view mountinfo, int number);
// By what an open file was reached; nothing where the kernel does not tell.
std::optional<Mount> mount_of(int fd);

// Whether fcntl(2) locks taken by this mount hold on all nodes, as far as its options tell: Lustre's may hold
// on this node alone, or there may be none. unsupported: they do not, and how to mount it.
Status locks_hold_on_all_nodes(const Mount& mount);

// The type of the file system with that device number, by the text of /proc/self/mountinfo (proc(5)). Empty
// where it isn't listed.
std::string mounted_type(std::string_view mountinfo, dev_t device);

}  // namespace pmio
