// Whether dead jobs have left a log, without reading its data: quick enough for the start of every job.
#pragma once

#include <cstddef>
#include <string>

namespace pmio {

// Job directories in a log directory whose job has died and left something to recover. The directories of
// others, whose ranks were killed when their files were complete, go. 0 too where the directory cannot be
// looked at, or where a recovery is under way.
size_t count_dead_jobs(const std::string& directory);

// Whether a job that has its log there runs, or is about to end. True also where a recovery is under way,
// which keeps one from knowing; false where the directory cannot be looked at.
bool some_job_may_live(const std::string& directory);

}  // namespace pmio
