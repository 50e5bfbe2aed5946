#include "recover/discard.h"

#include <algorithm>

#include "log/last_seen.h"
#include "medium/job_name.h"
#include "medium/registry.h"
#include "recover/recover_file.h"

namespace pmio {
namespace {

constexpr const char* kDiscardedPrefix = "discarded-";

bool loses(const JobInfo& job) {
  return !job.unreadable.empty() || std::any_of(job.files.begin(), job.files.end(), [](const FileInfo& file) {
    return !file.discarded && (file.undrained_records() > 0 || file.damaged() || file.ledger_damaged);
  });
}

// Only what a job makes; with something else in it the directory stays.
Status empty(const LogDirectory& parent, const std::string& name) {
  auto job = parent.open_below(name);
  if (!job.ok()) return job.status().system_errno() == ENOENT ? Status() : job.status();
  auto names = job->names();
  if (!names.ok()) return names.status();
  for (const std::string& entry : *names) {
    if (belongs_to_a_job(entry)) PMIO_TRY(job->remove(entry));
  }
  return parent.remove_directory(name);
}

bool forget_note(uint64_t job) {
  auto registry = Registry::find();
  if (!registry.ok()) return false;
  const auto entries = registry->list();
  const bool noted =
      entries.ok() && std::any_of(entries.value().begin(), entries.value().end(),
                                  [job](const Registry::Entry& entry) { return entry.job == job; });
  return registry->remove(job).ok() && noted;
}

Result<Discarded> discard_locked(const LogDirectory& parent, uint64_t id, bool even_undrained) {
  const std::string name = job_name(id);
  const std::string gone = kDiscardedPrefix + name;
  PMIO_TRY(empty(parent, gone));  // of one that was interrupted
  Discarded discarded;
  auto directory = parent.open_below(name);
  if (!directory.ok()) {
    if (directory.status().system_errno() != ENOENT) return directory.status();
    if (even_undrained) discarded.had_note = forget_note(id);
    return discarded;
  }
  const auto alive = directory->lock(kAlive, false);
  if (!alive.ok()) {
    if (alive.status().code() != Code::busy) return alive.status();
    return Status(Code::busy,
                  "job " + name.substr(4) + " is running, and its log is in use: end it, and repeat");
  }
  auto info = scan_job(*directory, name, JobState::dead);
  if (!info.ok()) return info.status();
  discarded.result =
      loses(*info) && !even_undrained ? Discarded::Result::would_lose : Discarded::Result::done;
  discarded.job = std::move(info).value();
  if (discarded.result != Discarded::Result::done) return discarded;
  PMIO_TRY(parent.rename(name, gone));
  PMIO_TRY(parent.sync());
  discarded.had_note = forget_note(id);
  remove_scratch(name);
  PMIO_TRY(empty(parent, gone));
  return discarded;
}

}  // namespace

Result<Discarded> discard_job(const std::string& directory, uint64_t job, bool even_undrained) {
  auto parent = LogDirectory::open(directory);
  if (!parent.ok()) {
    if (parent.status().system_errno() != ENOENT) return parent.status();
    Discarded none;
    if (even_undrained) none.had_note = forget_note(job);
    return none;
  }
  const auto lock = parent->lock(kRecoverLock, true);
  if (!lock.ok()) return lock.status();
  return discard_locked(*parent, job, even_undrained);
}

}  // namespace pmio
