#include "recover/leftovers.h"

#include <algorithm>
#include <vector>

#include "log/last_seen.h"
#include "recover/run.h"
#include "recover/scan.h"

namespace pmio {
namespace {

// Jobs that have died. A job that has only just made its directory has no `alive` yet.
std::vector<std::string> dead_jobs(const LogDirectory& directory) {
  auto names = job_names(directory);
  if (!names.ok() || names.value().empty()) return {};
  const auto question = directory.lock(kRecoverLock, false);
  if (!question.ok()) return {};
  std::erase_if(names.value(), [&directory](const std::string& name) {
    const auto job = directory.open_below(name);
    return !job.ok() || !job.value().has(kAlive) || !job.value().lock(kAlive, false).ok();
  });
  return std::move(names).value();
}

// As far as can be told without a look at the data; in doubt, it has.
bool has_something_left(const LogDirectory& directory, const std::string& name) {
  const auto opened = directory.open_below(name);
  if (!opened.ok()) return true;
  const auto job = scan_job(opened.value(), name, JobState::running);
  if (!job.ok() || !job.value().unreadable.empty()) return true;
  return std::any_of(job.value().files.begin(), job.value().files.end(), [](const FileInfo& file) {
    return file.undrained_records() != 0 || file.nodes || file.ledger_damaged || !file.lost_segments.empty();
  });
}

}  // namespace

size_t count_dead_jobs(const std::string& directory) {
  auto opened = LogDirectory::open(directory);
  if (!opened.ok()) return 0;
  std::vector<std::string> done = dead_jobs(*opened);
  const auto left = std::partition(done.begin(), done.end(), [&opened](const std::string& name) {
    return !has_something_left(*opened, name);
  });
  const auto count = static_cast<size_t>(done.end() - left);
  done.erase(left, done.end());
  RecoverOptions options;
  options.directory = directory;
  // If it cannot be removed, the next one tries again.
  if (!done.empty()) static_cast<void>(recover_in(*opened, done, {}, options, nullptr));
  return count;
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
