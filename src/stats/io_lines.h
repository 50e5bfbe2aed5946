// A line on stdout for each collective call and each system call on a file, in the form of Cray's
// MPICH_MPIIO_XSTATS=2 (PMIO_STATS=2):
//
//   PE=00005  WCreC=00001  off=0101783616  len=0008478000  myfile
//
// PE is the rank, then what it is and its number on that rank, from 0. WCreC and RCreC are collective writes
// and reads, with the place of their first byte and what is asked for. W_rec and R_rec are system calls. Each
// line is one write(2) of at most PIPE_BUF bytes, so lines of several ranks never mix. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace pmio {

class IoLines {
 public:
  enum Kind { collective_write, collective_read, system_write, system_read };

  // From now on lines are written.
  static void start(int rank);
  static bool on() { return on_.load(std::memory_order_relaxed); }
  // Costs a load if no lines are written. path: of which the last component is told.
  static void tell(Kind kind, uint64_t offset, uint64_t length, std::string_view path) {
    if (on()) [[unlikely]]
      write_line(kind, offset, length, path);
  }

 private:
  static void write_line(Kind kind, uint64_t offset, uint64_t length, std::string_view path);
  static inline std::atomic<bool> on_{false};
};

}  // namespace pmio
