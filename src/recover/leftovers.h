// Whether dead jobs have left a log, without reading its data: quick enough for the start of every job.
#pragma once

#include <cstddef>
#include <string>

namespace pmio {

// Counts the job directories in a log directory whose job has died and left something to recover. The
// directories of dead jobs whose ranks were killed when their files were complete are removed. It is 0, too,
// if the directory cannot be looked at, or if a recovery is under way.
size_t count_dead_jobs(const std::string& directory);

// Whether a job that has its log there runs, or is about to end. It is true, too, while a recovery is under
// way, because nobody can know then. False: also if the directory cannot be looked at.
bool some_job_may_live(const std::string& directory);

}  // namespace pmio
