// How a process's numbers have grown over time: a thread looks at them at intervals, and costs the program
// nothing else. At most kMost moments are kept; if there are more, every second one goes and the interval
// doubles. So the memory is bounded however long the job runs.
//
// Threads: any.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/pulse.h"

namespace pmio {

// clang-format off
#define PMIO_HISTORY(X) \
  X(log_bytes) X(written_bytes) X(read_bytes) X(wait_ns) X(exchange_ns) X(file_ns) X(drain_ns) X(open_close_ns)
// clang-format on

// Since MPI_Init: to the log; to and from the files by system calls, with the time of these. And waiting for
// room in the log or for other ranks.
struct HistoryNumbers {
#define PMIO_DECLARE(name) uint64_t name = 0;
  PMIO_HISTORY(PMIO_DECLARE)
#undef PMIO_DECLARE
  bool operator==(const HistoryNumbers&) const = default;
};

class History {
 public:
  static constexpr size_t kMost = 400;
  struct Point {
    uint64_t at_ns;  // since start_ns
    HistoryNumbers numbers;
  };

  // look: gives the numbers of the moment; by a thread of this object.
  History(uint64_t start_ns, std::chrono::nanoseconds every, std::function<HistoryNumbers()> look);

  using Points = std::vector<Point>;
  // With one of now.
  Points points();

 private:
  void look_again();
  void add() PMIO_REQUIRES(mutex_);

  const uint64_t start_ns_;
  const std::function<HistoryNumbers()> look_;
  Mutex mutex_;
  Points points_ PMIO_GUARDED_BY(mutex_);
  uint64_t beats_ PMIO_GUARDED_BY(mutex_) = 0, step_ PMIO_GUARDED_BY(mutex_) = 1;
  std::unique_ptr<Pulse> pulse_;
};

}  // namespace pmio
