// What kind of file system a file is on, and what is known of that kind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pmio {

// "tmpfs", "ext4", "lustre"; if it runs in user space also which one, as in "fuse.glusterfs". An unknown one
// is its number, "0x...". Empty: fstatfs has failed, and errno is set.
std::string file_system_of(int fd);

// The same by the device number of the file: each device is asked for once.
std::string file_system_of(int fd, uint64_t device);
// The same by the name of a file, which is opened only if nothing is known of its device. Empty: it cannot be
// opened.
std::string file_system_at(const std::string& path, uint64_t device);

// Whether the file system is of this node alone, and keeps nothing back until a close.
bool is_local(std::string_view file_system);

// Whether its files are memory themselves.
bool is_memory(std::string_view file_system);

// Whether another node reads what one node has written to a file and sent on by fdatasync(2), and whether
// fcntl(2) locks hold on all nodes. It goes by what is known of the file system in its usual configuration.
bool shows_other_nodes(std::string_view file_system);

// Whether the file system promises all that pmio needs, and pmio was never tried on it. Nothing is logged to
// it before somebody asks for that by name.
bool is_untried(std::string_view file_system);

// Whether a file's time of modification, asked for at an open, tells of all that other nodes have written and
// sent on by then. The time of MooseFS does not (decision 0012).
bool tells_of_writes(std::string_view file_system);

// A line of /proc/self/mountinfo (proc(5)).
struct Mount {
  std::string type, source;  // as there
  std::string point;         // where it is mounted, as there: a space is \040
  std::string options;       // of the mount and of the file system, separated by commas
};
// The mount of this number, which is the first field of its line in that text.
std::optional<Mount> find_mount(std::string_view mountinfo, int number);
// The mount by which an open file was reached; nothing: the kernel does not tell.
std::optional<Mount> mount_of(int fd);

// Whether fcntl(2) locks that are taken by this mount hold on all nodes, as far as its options tell. Lustre's
// may hold on this node alone, or there may be none. unsupported: they do not; the message says how to mount
// it.
Status locks_hold_on_all_nodes(const Mount& mount);

// The type of the file system with that device number, by the text of /proc/self/mountinfo (proc(5)). Empty:
// it is not listed.
std::string mounted_type(std::string_view mountinfo, dev_t device);

}  // namespace pmio
