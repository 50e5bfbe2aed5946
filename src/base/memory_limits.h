// What bounds the memory that this process and its job may use, and how much of each bound is left: the
// node's memory, the control groups that count it (those of batch systems, containers and systemd alike), and
// the process's addresses. Decision 0018 says how the log keeps away from them.
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
    memory,       // its excess makes the kernel kill processes
    file_system,  // of a tmpfs; its excess is an error, or fatal to who has a file mapped that is not
                  // reserved
    addresses     // of this process alone; its excess is an error
  };
  Of of = Of::memory;
  std::string source;  // for messages: "the memory cgroup /sys/fs/cgroup/job_7"
  uint64_t limit_bytes = 0;
  uint64_t left_bytes = 0;  // beside what cannot be taken back at once
};

// So much of a limit is left to the program, to what it reads and writes by the page cache, and to what ranks
// take at the same moment: an eighth, 8 GiB at most; of addresses 128 MiB at least.
uint64_t kept_free(const MemoryLimit& limit);
// So much more may be taken: what is left of the tightest limit, but for a part of kept_free. UINT64_MAX: no
// limit is known. *tightest, where given: the source of that limit.
enum class Keep { all, half };
uint64_t room_bytes(std::span<const MemoryLimit> limits, Keep keep, const MemoryLimit** tightest = nullptr);

// Reads files by their names; nothing: it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> read_system_file(const std::string& path);

// The control groups' limits, the process's own first, and the node's memory.
std::vector<MemoryLimit> memory_limits(const ReadFile& read = read_system_file);
// Of a directory's file system, by statvfs.
std::optional<MemoryLimit> file_system_limit(const std::string& directory);
// RLIMIT_AS.
std::optional<MemoryLimit> address_limit(const ReadFile& read = read_system_file);
// RLIMIT_FSIZE: the largest file that this process may make; UINT64_MAX: any. A larger one is not only an
// error, but a signal that ends the program.
uint64_t largest_file_bytes();

}  // namespace pmio
