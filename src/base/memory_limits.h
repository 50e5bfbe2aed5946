// The limits of the memory that this process and its job may use, and how much of each is left. They are the
// node's memory, the control groups that count it (of batch systems, containers and systemd alike), and the
// process's addresses. Decision 0018 says how the log keeps away from them.
//
// Threads: any. A look costs some dozen system calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmio {

struct MemoryLimit {
  enum class Of {
    memory,       // an excess makes the kernel kill processes
    file_system,  // of a tmpfs; an excess is an error, and fatal to a process with a mapped, unreserved file
    addresses     // of this process alone; an excess is an error
  };
  Of of = Of::memory;
  std::string source;  // for messages: "the memory cgroup /sys/fs/cgroup/job_7"
  uint64_t limit_bytes = 0;
  uint64_t left_bytes = 0;  // includes what the kernel can take back at once
};

// How much of a limit is left for the program and what it reads and writes by the page cache. And for what
// ranks take at the same moment. It is an eighth, and 8 GiB at most; of addresses it is 128 MiB at least.
uint64_t kept_free(const MemoryLimit& limit);
// How much more may be taken: what is left of the tightest limit, without all or half of its kept_free.
// UINT64_MAX: no limit is known. tightest: if given, it is set to that limit.
enum class Keep { all, half };
uint64_t room_bytes(std::span<const MemoryLimit> limits, Keep keep, const MemoryLimit** tightest = nullptr);

// Reads a file by its name; nothing: it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> read_system_file(const std::string& path);

// The limits of the control groups, the process's own first, then the node's memory.
std::vector<MemoryLimit> memory_limits(const ReadFile& read = read_system_file);
// The limit of a directory's file system, by statvfs.
std::optional<MemoryLimit> file_system_limit(const std::string& directory);
// RLIMIT_AS.
std::optional<MemoryLimit> address_limit(const ReadFile& read = read_system_file);
// RLIMIT_FSIZE: the largest file that this process may make; UINT64_MAX: there is no limit. A larger file is
// not only an error, but raises a signal that ends the program.
uint64_t largest_file_bytes();

}  // namespace pmio
