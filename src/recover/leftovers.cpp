#include "recover/leftovers.h"

#include <algorithm>

#include "log/last_seen.h"
#include "recover/scan.h"

namespace pmio {

size_t count_dead_jobs(const std::string& directory) {
  auto opened = LogDirectory::open(directory);
  if (!opened.ok()) return 0;
  const auto names = job_names(*opened);
  if (!names.ok() || names.value().empty()) return 0;
  const auto question = opened->lock(kRecoverLock, false);
  if (!question.ok()) return 0;
  const auto is_dead = [&opened](const std::string& name) {
    const auto job = opened->open_below(name);
    // A job that has only just made its directory has no `alive` yet.
    return job.ok() && job.value().has(kAlive) && job.value().lock(kAlive, false).ok();
  };
  return static_cast<size_t>(std::count_if(names.value().begin(), names.value().end(), is_dead));
}

bool some_job_may_live(const std::string& directory) {
  auto opened = LogDirectory::open(directory);
  if (!opened.ok()) return false;
  const auto names = job_names(*opened);
  if (!names.ok() || names.value().empty()) return false;
  const auto question = opened->lock(kRecoverLock, false);
  if (!question.ok()) return question.status().code() == Code::busy;
  return std::any_of(names.value().begin(), names.value().end(), [&opened](const std::string& name) {
    const auto job = opened->open_below(name);
    if (!job.ok() || !job.value().has(kAlive)) return false;
    const auto alive = job.value().lock(kAlive, false);
    return !alive.ok() && alive.status().code() == Code::busy;
  });
}

}  // namespace pmio
