// What a process counts and how long its phases took. Plain data, relaxed atomics: counting must not cost.
// Time-to-log (append_ns) and time-to-file (close_ns and drain_ns beside it) are always told apart.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace pmio {

// clang-format off
#define PMIO_COUNTERS(X) \
  X(append_calls) X(append_bytes) X(append_records) X(append_ns) X(append_wait_ns) X(collective_writes) \
  X(independent_writes) X(collective_reads) X(independent_reads) X(read_calls) X(read_bytes) \
  X(read_log_bytes) X(read_file_bytes) X(read_ns) X(merge_rounds) X(merge_records) X(merge_ns) \
  X(drain_rounds) X(drain_windows) X(drain_bytes) X(drain_ns) X(target_writes_1k) X(target_writes_1m) \
  X(target_writes_large) X(target_write_bytes) X(target_write_ns) X(target_reads_1k) X(target_reads_1m) \
  X(target_reads_large) X(target_read_bytes) X(target_read_ns) X(files_opened) X(files_passed_through) \
  X(open_ns) X(close_ns) X(sync_calls) X(sync_ns) X(handed_on_calls) X(segments_formatted) \
  X(segments_recycled)
// clang-format on

struct Counters {
#define PMIO_DECLARE(name) std::atomic<uint64_t> name{0};  // NOLINT(bugprone-macro-parentheses)
  PMIO_COUNTERS(PMIO_DECLARE)
#undef PMIO_DECLARE
};

inline void count(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

struct RunFacts {  // what a process says of itself in its statistics file
  uint64_t job;
  uint32_t rank, ranks;
  std::string program, mpi, log_directory, medium;
};

// Writes <log directory>/stats-<job id>/rank-<rank>.json; keeps the newest 16 jobs' statistics. Level 1 of
// Cray's.
Status write_statistics(const std::string& log_directory, const RunFacts& facts, const Counters& counters);
std::string statistics_json(const RunFacts& facts, const Counters& counters);

}  // namespace pmio
