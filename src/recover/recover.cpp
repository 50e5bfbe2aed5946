#include "recover/recover.h"

#include <algorithm>
#include <thread>

#include "recover/leftovers.h"
#include "recover/run.h"
#include "recover/unfinished.h"

namespace pmio {

static Result<RecoverReport> recover_logs(const RecoverOptions& options) {
  auto parent = LogDirectory::open(options.directory);
  if (!parent.ok()) {
    if (parent.status().system_errno() == ENOENT) return RecoverReport{};
    return parent.status();
  }
  auto names = job_names(*parent);
  if (!names.ok()) return names.status();
  if (names->empty()) return RecoverReport{};
  Selection selection;
  selection.path = options.path;
  if (!options.path.empty()) {
    auto identity = identity_of(options.path);
    if (identity.ok()) selection.identity = *identity;
  }
  return recover_in(*parent, std::move(names).value(), selection, options, nullptr);
}

bool RecoverReport::complete() const {
  return complete_here() && unfinished.empty() &&
         std::all_of(jobs.begin(), jobs.end(), [](const JobOutcome& job) {
           return std::all_of(job.files.begin(), job.files.end(),
                              [](const FileOutcome& file) { return file.waits_for.empty(); });
         });
}

bool RecoverReport::complete_here() const {
  const bool lost = std::any_of(unfinished.begin(), unfinished.end(),
                                [](const UnfinishedRecovery& other) { return other.given_up; });
  return !lost && std::all_of(jobs.begin(), jobs.end(), [this](const JobOutcome& job) {
    return job.running_bytes == 0 && job.unreadable.empty() &&
           std::all_of(job.files.begin(), job.files.end(), [this](const FileOutcome& file) {
             return file.result != FileResult::kept && file.message.empty() && file.damaged.empty() &&
                    file.gone.empty() && !file.misses_ranks && (!consistent || file.cut.reached());
           });
  });
}

// The processes of a job that has been killed hold their lock a moment longer.
static void wait_for_jobs(const std::string& directory, std::chrono::milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < until && some_job_may_live(directory))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

Result<RecoverReport> recover(const RecoverOptions& options) {
  wait_for_jobs(options.directory, options.wait);
  auto report = recover_logs(options);
  if (report.ok() && !options.path.empty() && !options.dry_run && options.to.empty())
    PMIO_TRY(find_unfinished(options.path, options.lost_nodes, &report.value()));
  return report;
}

}  // namespace pmio
