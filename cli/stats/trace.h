// A job's history as a trace that Perfetto shows (ui.perfetto.dev): for each rank counters of bytes, and when
// it waited, exchanged, wrote and drained.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/stats/jobs.h"

namespace pmio::cli {

// Perfetto's TrackEvent, as protobuf. Times count from the begin of the job's first rank.
std::string trace_of(const JobStatistics& job);

// Writes it; the file is there only if all of it is. Errors: as of open(2) and write(2).
Status write_text(const std::string& path, const std::string& text);

}  // namespace pmio::cli
