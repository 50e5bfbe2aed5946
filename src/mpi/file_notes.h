// What the statistics say of each file (stats/file_statistics.h) beyond the engines' own counters: the
// program's calls on a handle that does not log, and the hints. All of it is kept only if statistics are
// asked for.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "mpi/call.h"
#include "stats/file_statistics.h"
#include "twophase/two_phase.h"

namespace pmio {

struct Handle;

// The calls on one handle. Threads: as of the calls; no two are in collective calls on one handle.
class FileCalls {
 public:
  void count(const Transfer& transfer, uint64_t bytes, uint64_t ns);
  // The end of a split call, which was counted at its begin.
  void end_split(Direction direction, uint64_t bytes, uint64_t ns);
  // The library's part of a call that was counted before.
  void add_time(Direction direction, bool collective, uint64_t ns);
  // What was counted since the last call of this.
  FileNumbers take();

 private:
  struct Sum {
    std::atomic<uint64_t> calls{0}, bytes{0}, ns{0};
  };
  Sum collective_writes_, collective_reads_, writes_, reads_;
};

// Held while the library carries out a blocking call that was handed on.
class LibraryTime {
 public:
  LibraryTime(Handle& handle, Direction direction, bool collective)
      : handle_(FileStatistics::on() ? &handle : nullptr),
        direction_(direction),
        collective_(collective),
        begin_ns_(handle_ != nullptr ? monotonic_ns() : 0) {}
  ~LibraryTime() {
    if (handle_ != nullptr) [[unlikely]]
      end();
  }
  LibraryTime(const LibraryTime&) = delete;
  LibraryTime& operator=(const LibraryTime&) = delete;

 private:
  void end();

  Handle* const handle_;
  const Direction direction_;
  const bool collective_;
  const uint64_t begin_ns_;
};

// The hints of all sources for a file that is about to be opened, the later ones of which count.
FileStatistics::Pairs wished_hints(const char* filename, MPI_Info info);

// The values that took effect, as MPI_File_get_info tells them; the MPI library's own are not among them if
// pmio has the handle.
FileStatistics::Pairs hints_in_force(const Handle& handle);

// Before the close of the handle, and of what the program has left open at the end.
void note_closing(Handle& handle);

// What collective buffering has done.
void add_to(FileNumbers& numbers, const TwoPhaseCounters& buffering);

}  // namespace pmio
