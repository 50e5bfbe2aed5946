#include "recover/run.h"

#include <iterator>
#include <map>
#include <utility>

#include "log/last_seen.h"
#include "medium/job_name.h"
#include "recover/file_copy.h"
#include "recover/recover_file.h"
#include "recover/spanning.h"
#include "recover/target_state.h"

namespace pmio {
namespace {

struct Job {
  LogDirectory directory;
  JobInfo info;
  std::optional<FileLock> alive;  // held: the job is dead and stays so
};

Result<Job> lock_and_scan(LogDirectory directory, const std::string& name, const FileIdentity* only) {
  auto alive = directory.lock(kAlive, false);
  if (!alive.ok() && alive.status().code() != Code::busy) return alive.status();
  Job job{std::move(directory), {}, {}};
  const bool dead = alive.ok();
  if (dead) job.alive = std::move(alive).value();
  auto info = scan_job(job.directory, name, dead ? JobState::dead : JobState::running, only);
  if (!info.ok() && !dead && only != nullptr) {  // it is just at it, and this caller only wants to tell of it
    job.info.state = JobState::running;
    return job;
  }
  if (!info.ok()) return info.status();
  job.info = std::move(info).value();
  return job;
}

// Something of that name that is no directory of the caller's alone. It stops nobody.
JobOutcome refused_job(const LogDirectory& parent, const std::string& name, const Status& why) {
  JobOutcome outcome;
  outcome.id = job_of(name).value_or(0);
  outcome.directory = parent.path() + "/" + name;
  outcome.state = JobState::dead;
  outcome.unreadable.push_back(why.message());
  return outcome;
}

// nullopt: it has just ended, or is refused.
Result<std::optional<LogDirectory>> open_job(const LogDirectory& parent, const std::string& name,
                                             std::vector<JobOutcome>* refused) {
  auto directory = parent.open_below(name);
  if (directory.ok()) return std::optional(std::move(directory).value());
  if (directory.status().code() == Code::access)
    refused->push_back(refused_job(parent, name, directory.status()));
  else if (directory.status().system_errno() != ENOENT)
    return directory.status();
  return std::optional<LogDirectory>();
}

// recover.lock is held.
Result<std::vector<Job>> lock_jobs(const LogDirectory& parent, const std::vector<std::string>& names,
                                   const FileIdentity* only, std::vector<JobOutcome>* refused) {
  std::vector<Job> jobs;
  for (const std::string& name : names) {
    auto directory = open_job(parent, name, refused);
    if (!directory.ok()) return directory.status();
    if (!*directory) continue;
    auto job = lock_and_scan(std::move(**directory), name, only);
    if (!job.ok() && job.status().system_errno() == ENOENT) continue;
    if (!job.ok()) return job.status();
    jobs.push_back(std::move(job).value());
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.info.start_realtime_ns < b.info.start_realtime_ns;
  });
  return jobs;
}

Result<std::vector<Job>> look_at_jobs(const std::string& directory, std::vector<JobOutcome>* refused) {
  auto parent = LogDirectory::open(directory);
  if (!parent.ok()) return parent.status();
  auto infos = scan(directory);
  if (!infos.ok()) return infos.status();
  std::vector<Job> jobs;
  for (JobInfo& info : *infos) {
    auto opened = open_job(*parent, info.name, refused);
    if (!opened.ok()) return opened.status();
    if (*opened) jobs.push_back({std::move(**opened), std::move(info), {}});
  }
  return jobs;
}

class Run {
 public:
  Run(const LogDirectory& parent, std::vector<Job> jobs, Selection selection, const RecoverOptions& options)
      : parent_(parent), jobs_(std::move(jobs)), selection_(std::move(selection)), options_(options) {
    if (!options.to.empty()) copy_.emplace(options.to);
  }

  Result<RecoverReport> recover() {
    RecoverReport report;
    report.consistent = options_.consistent;
    for (Job& job : jobs_) report.jobs.push_back(recover_job(&job));
    if (copy_) {
      PMIO_TRY(copy_->finish());
      report.copied = copy_->begun();
    }
    return report;
  }

 private:
  // For all logs of a file before it is written, since the replay of one changes it for the next.
  void look_for_changes(const FileIdentity& target) {
    // Another job may have recorded it before the file system was mounted anew.
    const auto same = [&target](const FileIdentity& other) { return is_recorded(other, target); };
    if (std::any_of(looked_at_.begin(), looked_at_.end(), same)) return;
    looked_at_.push_back(target);
    for (const Job& job : jobs_) {
      if (job.info.state != JobState::dead) continue;
      for (const FileInfo& file : job.info.files) {
        const bool replays = file.undrained_records() > 0 || (file.nodes && needs_journal(file));
        if (!same(file.target) || !selection_.has(file) || file.discarded || !replays) continue;
        if (const Status status = prepare(job, file); status.ok())
          writing_.emplace_back(&job, &file);
        else
          refused_[&file] = status.message();
      }
    }
  }

  Status prepare(const Job& job, const FileInfo& file) {
    if (!options_.force) {
      const auto changed = changed_by_others(job.directory, file, paths_of(file));
      if (!changed.ok()) return changed.status();
      if (changed.value()) return {Code::busy, changed_message(file, *changed.value())};
    }
    return options_.dry_run ? Status() : mark_writing(job.directory, file, options_.open_log);
  }

  // For all jobs that have it: a repetition must not take what is written now for somebody else's.
  void note_at_work(const FileIdentity& target) const {
    for (const auto& [job, file] : writing_)
      if (file->nodes && is_recorded(file->target, target))
        static_cast<void>(mark_writing(job->directory, *file, options_.open_log));
  }

  JobOutcome recover_job(Job* job) {
    JobOutcome outcome;
    outcome.id = job->info.id;
    outcome.directory = job->info.directory;
    outcome.state = job->info.state;
    outcome.ranks = job->info.ranks;
    for (const FileInfo& file : job->info.files) {
      if (!selection_.has(file)) continue;
      if (job->info.state != JobState::dead) {
        outcome.running_bytes += file.undrained_bytes();
        if (file.lags) outcome.lagging_bytes += file.bytes_to_come();
      } else {
        outcome.files.push_back(recover_or_hold_back(*job, file));
      }
    }
    if (job->info.state != JobState::dead) return outcome;
    for (const UnreadableSegment& segment : job->info.unreadable) {
      outcome.unreadable.push_back(job->info.directory + "/" + segment.name + ": " +
                                   segment.reason.message());
      if (may_be_read_later(segment)) outcome.readable_later = outcome.unreadable.back();
    }
    const bool damaged = std::any_of(job->info.files.begin(), job->info.files.end(),
                                     [](const FileInfo& file) { return file.damaged() && !file.discarded; });
    // Without a segment, too: the ledger may be what other nodes wait for.
    const bool kept = std::any_of(outcome.files.begin(), outcome.files.end(),
                                  [](const FileOutcome& file) { return file.result == FileResult::kept; });
    if (changes_logs() && !damaged && !kept && (selection_.everything() || !outcome.files.empty())) {
      auto removed = remove_finished_job(parent_, job->info.name, job->directory);
      outcome.removed = removed.ok() && *removed;
    }
    for (FileInfo& file : job->info.files)
      file.segments.clear();  // unmapped; the paths may still be asked for
    return outcome;
  }

  // Newer bytes must not come before older ones: a later repetition would put the older ones on top.
  FileOutcome recover_or_hold_back(const Job& job, const FileInfo& file) {
    if (!copy_) look_for_changes(file.target);
    for (const FileIdentity& identity : kept_) {
      if (!same_file(identity, file.target) || file.undrained_records() == 0) continue;
      return hold_back(job, file, "an older log of the same file has to be recovered first");
    }
    if (std::any_of(job.info.unreadable.begin(), job.info.unreadable.end(), may_be_read_later))
      return hold_back(job, file, "a segment of the job cannot be read now, and may hold older bytes of it");
    if (const auto refused = refused_.find(&file); refused != refused_.end())
      return hold_back(job, file, refused->second);
    FileOutcome outcome =
        recover_file(job.directory, file,
                     {paths_of(file), options_.dry_run, options_.consistent, options_.progress,
                      options_.open_log, job_of_all_nodes(job.info.id),
                      [this, &file] { note_at_work(file.target); }, copy_ ? &*copy_ : nullptr});
    std::erase_if(writing_, [&](const auto& one) { return one.second == &file; });
    // Of a replay that failed the file has nobody knows what.
    if (outcome.result == FileResult::kept) keep(job, file, !options_.consistent);
    if (outcome.result == FileResult::cut) keep(job, file, false);
    return outcome;
  }

  bool changes_logs() const { return !options_.dry_run && !copy_; }

  // By another pmio, or another time; one that is corrupt never.
  static bool may_be_read_later(const UnreadableSegment& segment) {
    return segment.reason.code() != Code::corrupt;
  }

  static std::string changed_message(const FileInfo& file, const std::string& states) {
    return "somebody has changed the file since the job last wrote it (" + states +
           "), and the log would go over that; if it is to, repeat with --force --file " + file.name();
  }

  FileOutcome hold_back(const Job& job, const FileInfo& file, const std::string& why) {
    FileOutcome outcome = describe_file(job.directory, file);
    outcome.message = why + "; its log stays in " + job.info.directory;
    keep(job, file, false);
    return outcome;
  }

  // ahead: of what lies behind the cut something may have been replayed now.
  void keep(const Job& job, const FileInfo& file, bool ahead) {
    kept_.push_back(file.target);
    // If other nodes write the file, too, its mark goes on saying so.
    if (!changes_logs() || refused_.contains(&file) || file.nodes) return;
    mark_settled(job.directory, file, paths_of(file), ahead || !file.ledger_exact, options_.open_log);
  }

  // Another job may have opened the same file by another name.
  std::vector<std::string> paths_of(const FileInfo& file) const {
    std::vector<std::string> paths = file.paths;
    const auto add = [&paths](const std::string& path) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    };
    for (const Job& job : jobs_) {
      for (const FileInfo& other : job.info.files) {
        if (!same_file(other.target, file.target)) continue;
        for (const std::string& path : other.paths) add(path);
      }
    }
    if (!selection_.path.empty()) add(selection_.path);
    return paths;
  }

  const LogDirectory& parent_;
  std::vector<Job> jobs_;
  const Selection selection_;
  const RecoverOptions& options_;
  std::optional<FileCopy> copy_;  // that is written instead of the file
  std::vector<FileIdentity> kept_;
  std::vector<FileIdentity> looked_at_;                          // by look_for_changes
  std::map<const FileInfo*, std::string> refused_;               // by it, and why
  std::vector<std::pair<const Job*, const FileInfo*>> writing_;  // the others that are replayed
};

Result<FileLock> take_recover_lock(const LogDirectory& parent, const std::function<void()>& waiting) {
  auto lock = parent.lock(kRecoverLock, false);
  if (lock.ok() || lock.status().code() != Code::busy) return lock;
  if (waiting) waiting();
  return parent.lock(kRecoverLock, true);
}

}  // namespace

Result<RecoverReport> recover_in(const LogDirectory& parent, const std::vector<std::string>& names,
                                 const Selection& selection, const RecoverOptions& options,
                                 const FileIdentity* only) {
  std::vector<JobOutcome> refused;
  std::optional<FileLock> lock;
  if (!options.dry_run) {
    auto taken = take_recover_lock(parent, options.waiting);
    if (!taken.ok()) return taken.status();
    lock = std::move(taken).value();
  }
  auto jobs =
      options.dry_run ? look_at_jobs(options.directory, &refused) : lock_jobs(parent, names, only, &refused);
  if (!jobs.ok()) return jobs.status();
  auto report = Run(parent, std::move(jobs).value(), selection, options).recover();
  if (report.ok()) std::move(refused.begin(), refused.end(), std::back_inserter(report.value().jobs));
  return report;
}

}  // namespace pmio
