// What this process has done with each file that was opened through MPI-IO, and by which engine: for the
// per-file part of `pmio stats`. Kept only if statistics are asked for; else all of it costs a load.
//
// A file is known by its path; what several opens of it did is added up. The first kMost files have entries
// of their own, all others share one with an empty path. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace pmio {

// Calls are the program's, target_ its bytes' way to and from the file in system calls. Times are in ns. From
// exchanged_calls on: of collective buffering. copy: own bytes to or from the images of windows; exchange:
// the same and messages; arrival: until all ranks had come; wait: for others after that.
// clang-format off
#define PMIO_FILE_NUMBERS(X) \
  X(opens) X(collective_writes) X(independent_writes) X(collective_reads) X(independent_reads) \
  X(written_bytes) X(read_bytes) X(write_ns) X(read_ns) X(logged_bytes) X(past_log_bytes) \
  X(target_writes_1k) X(target_writes_1m) X(target_writes_large) X(target_write_bytes) X(target_write_ns) \
  X(target_reads_1k) X(target_reads_1m) X(target_reads_large) X(target_read_bytes) X(target_read_ns) \
  X(read_modify_writes) X(read_modify_write_bytes) X(gaps) X(gap_bytes) \
  X(exchanged_calls) X(unexchanged_calls) X(windows) X(window_bytes) X(whole_stripe_bytes) X(shared_stripes) \
  X(messages) X(message_bytes) X(metadata_bytes) X(arrival_ns) X(copy_ns) X(exchange_ns) X(file_ns) X(wait_ns)
// clang-format on

struct FileNumbers {
#define PMIO_DECLARE(name) uint64_t name = 0;
  PMIO_FILE_NUMBERS(PMIO_DECLARE)
#undef PMIO_DECLARE
  void add(const FileNumbers& other);
};

class FileStatistics {
 public:
  static constexpr size_t kMost = 1000;
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  // Of an open that is over, or is at its end.
  struct Facts {
    std::string engine;      // "log", "twophase", "independent", "library"
    std::string why;         // if it is the log; of others FileList has the reason
    Pairs wished, in_force;  // hints
  };
  struct Entry {
    Facts facts;  // of the last open; engine: all that there were
    FileNumbers numbers;
    std::vector<uint64_t> server_bytes;  // empty: not known
  };

  static bool on() { return on_.load(std::memory_order_relaxed); }
  // From now on they are kept.
  static void start() { on_.store(true, std::memory_order_relaxed); }
  // Never destroyed.
  static FileStatistics& of_process();

  void describe(std::string_view path, Facts facts);
  void add(std::string_view path, const FileNumbers& numbers);
  // Bytes written to each server of the file; their numbers count for this file alone.
  void add_servers(std::string_view path, const std::vector<uint64_t>& bytes);
  std::map<std::string, Entry> entries() const;

 private:
  Entry& entry(std::string_view path) PMIO_REQUIRES(mutex_);

  static inline std::atomic<bool> on_{false};
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
