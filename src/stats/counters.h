// What a process counts, and how long its phases took: plain data and relaxed atomics, because counting must
// not cost. Time-to-log and time-to-file are always told apart. Time-to-log is append_ns, of which
// append_wait_ns waits for room, direct_ns past the log, and late_open_ns. The last is for a file that was
// undecided and is opened to be logged inside of a later call. Time-to-file is these, sync_ns and close_ns;
// drain_ns runs beside them. append_ns and read_ns come from call_timer.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "stats/file_list.h"
#include "stats/file_statistics.h"
#include "stats/history.h"

namespace pmio {

// clang-format off
#define PMIO_COUNTERS(X) \
  X(append_calls) X(append_bytes) X(append_records) X(append_ns) X(append_wait_ns) X(collective_writes) \
  X(independent_writes) X(collective_reads) X(independent_reads) X(read_calls) X(read_bytes) \
  X(read_log_bytes) X(read_file_bytes) X(read_ns) X(merge_rounds) X(merge_records) X(merge_ns) \
  X(drain_rounds) X(drain_windows) X(drain_bytes) X(drain_ns) X(target_writes_1k) X(target_writes_1m) \
  X(target_writes_large) X(target_write_bytes) X(target_write_ns) X(target_reads_1k) X(target_reads_1m) \
  X(target_reads_large) X(target_read_bytes) X(target_read_ns) X(files_opened) X(files_passed_through) \
  X(append_timed_calls) X(read_timed_calls) X(direct_calls) X(direct_bytes) X(direct_ns) X(log_peak_bytes) \
  X(log_capacity_bytes) X(open_ns) X(late_opens) X(late_open_ns) X(close_ns) X(sync_calls) X(sync_ns) X(handed_on_calls) X(segments_formatted) \
  X(segments_recycled)
// clang-format on

struct Counters {
#define PMIO_DECLARE(name) std::atomic<uint64_t> name{0};  // NOLINT(bugprone-macro-parentheses)
  PMIO_COUNTERS(PMIO_DECLARE)
#undef PMIO_DECLARE
  void add(const Counters& other) {
#define PMIO_ADD(name) name.fetch_add(other.name.load(std::memory_order_relaxed), std::memory_order_relaxed);
    PMIO_COUNTERS(PMIO_ADD)
#undef PMIO_ADD
  }
};

inline void count(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}
// The system calls on a file are the process's, too.
void count_system_calls(Counters& all, const FileNumbers& of_file);

struct RunFacts {  // what a process says of itself in its statistics file
  uint64_t job;
  uint32_t rank, ranks;
  std::string program, mpi, log_directory, medium;
  std::string host = {};
  uint64_t start_realtime_ns = 0;  // MPI_Init
  uint64_t wall_ns = 0;            // since then
};

// Writes <log directory>/stats-<job id>/job.json if the job has no statistics yet, so that a job that is
// killed is known, too. Keeps the statistics of the newest 16 jobs. Each process calls it when it joins the
// job.
Status announce_statistics(const std::string& log_directory, const RunFacts& facts);

// Writes <log directory>/stats-<job id>/rank-<rank>.json. Level 1 of Cray's.
Status write_statistics(const std::string& log_directory, const RunFacts& facts, const Counters& counters,
                        const FileList& files, const History::Points& history);

}  // namespace pmio
