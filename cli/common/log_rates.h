// How fast threads get bytes into the log medium: a short measurement.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "medium/medium.h"

namespace pmio::cli {

// Bytes per second of all threads together, until the last one is done.
struct LogRates {
  double cold = 0;     // each page for the first time, and the making of the region
  double warm = 0;     // the same pages again, each record flushed
  double durable = 0;  // warm, and the sync that MPI_File_sync pays
};

enum class LogPasses { cold, all };  // cold: the other rates are 0

// Each thread makes a region of its own and copies records of 64 KiB to it, all at the same time; the regions
// are removed. region_bytes: of each, at least a record. source_bytes: of the memory that is copied, at least
// a record; a small one stays in the processor's cache. Errors: of the medium.
Result<LogRates> measure_log(Medium& medium, uint32_t threads, uint64_t region_bytes, uint64_t source_bytes,
                             LogPasses passes = LogPasses::all);

constexpr uint64_t kLogRecordBytes = 64 << 10;

}  // namespace pmio::cli
