// A job's statistics as the advice looks at them.
#pragma once

#include "advise/record.h"
#include "cli/stats/jobs.h"

namespace pmio::cli {

// Of a job that has ended: with ranks. What its statistics do not tell is left at 0; a job that ran without
// pmio_stats has no files in them.
advise::JobRecord record_of(const JobStatistics& job);

}  // namespace pmio::cli
