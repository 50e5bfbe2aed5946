// Before a file is opened for logging (recover_pending).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "log/nodes_note.h"
#include "medium/job_name.h"
#include "recover/recorded.h"
#include "recover/run.h"

namespace pmio {
namespace {

constexpr uint64_t kPatienceNs = 10'000'000'000;
constexpr std::chrono::milliseconds kPause{5};

// No job makes its directory, logs and has died within so short a time. Many small files ask more often.
constexpr uint64_t kTooShortToDieNs = 1'000'000;

// When a job was last seen to have a directory for itself.
struct LastAlone {
  Mutex mutex;
  uint64_t seen_ns PMIO_GUARDED_BY(mutex) = 0;
  uint64_t own_job PMIO_GUARDED_BY(mutex) = 0;
  std::string directory PMIO_GUARDED_BY(mutex);
};

Status pending_status(const RecoverReport& report) {
  for (const JobOutcome& job : report.jobs) {
    for (const FileOutcome& file : job.files) {
      if (!file.waits_for.empty()) {
        return Status(Code::busy, "a crashed job has logs of " + file.path + " on " +
                                      std::to_string(file.waits_for.size()) +
                                      " more of its nodes: run 'pmio recover' there first");
      }
      if (file.result == FileResult::kept) {
        return Status(Code::busy,
                      "a crashed job's log of " + file.path + " is not in the file yet: " + file.message);
      }
    }
    if (!job.readable_later.empty())
      return Status(Code::busy, "a crashed job has a log that cannot be read now, and may be of this file: " +
                                    job.readable_later);
  }
  return {};
}

void tell_of_running(const RecoverReport& report, const std::string& path, uint64_t own_job,
                     std::vector<std::string>* lines) {
  for (const JobOutcome& job : report.jobs) {
    if (job.state != JobState::running || job.running_bytes == 0) continue;
    // What another node of the caller's job has logged, that node brings into the file when it is asked.
    if (job_of_all_nodes(job.id) == job_of_all_nodes(own_job)) continue;
    lines->push_back(std::to_string(job.running_bytes) + " bytes of " + path +
                     " are in the log of another job that runs, " + job.directory +
                     ", and not in the file yet");
  }
}

uint64_t lagging_bytes(const RecoverReport& report) {
  uint64_t bytes = 0;
  for (const JobOutcome& job : report.jobs) bytes += job.lagging_bytes;
  return bytes;
}

// What a job that runs has closed by pmio_close=background it is completing: what the caller writes must come
// behind that. Waits as long as it gets on, and a while longer.
Result<RecoverReport> recover_and_wait(const std::function<Result<RecoverReport>()>& recover_now) {
  uint64_t least = UINT64_MAX, since = monotonic_ns();
  for (;;) {
    auto report = recover_now();
    if (!report.ok()) return report;
    const uint64_t bytes = lagging_bytes(*report);
    const uint64_t now = monotonic_ns();
    if (bytes < least) {
      least = bytes;
      since = now;
    }
    if (bytes == 0 || now - since > kPatienceNs) return report;
    std::this_thread::sleep_for(kPause);
  }
}

Status recover_pending_file(const std::string& directory, const FileIdentity& identity,
                            const std::string& path, uint64_t own_job, std::vector<std::string>* running) {
  const auto names = other_jobs(directory, job_name(own_job));
  if (!names.ok()) return names.status();
  std::vector<FileIdentity> meant;  // under another device number in logs of before a mount
  std::vector<std::string> concerned;
  for (const std::string& name : names.value()) {
    const auto logs = logs_of(directory, name);
    if (!logs.ok()) return logs.status();
    const auto recorded = logs.value() ? logs.value()->find(identity, path) : std::nullopt;
    if (!recorded) continue;
    concerned.push_back(name);
    if (std::find(meant.begin(), meant.end(), *recorded) == meant.end()) meant.push_back(*recorded);
  }
  if (concerned.empty()) return {};
  auto parent = LogDirectory::open(directory);
  if (!parent.ok()) return parent.status().system_errno() == ENOENT ? Status() : parent.status();
  RecoverOptions options;
  options.directory = directory;
  for (const FileIdentity& one : meant) {
    auto report = recover_and_wait([&] {
      return recover_in(*parent, concerned, {one, path}, options, &one);
    });
    if (!report.ok()) return report.status();
    if (running != nullptr) tell_of_running(*report, path, own_job, running);
    PMIO_TRY(pending_status(*report));
  }
  return {};
}

}  // namespace

bool has_other_jobs(const std::string& directory, uint64_t own_job) {
  static LastAlone& last = *new LastAlone;
  const uint64_t now = monotonic_ns();
  const LockGuard lock(last.mutex);
  if (now - last.seen_ns < kTooShortToDieNs && last.own_job == own_job && last.directory == directory)
    return false;
  const auto names = other_jobs(directory, job_name(own_job));
  if (!names.ok() || !names.value().empty()) return true;
  last.seen_ns = now;
  last.own_job = own_job;
  last.directory = directory;
  return false;
}

Status recover_pending(const std::string& directory, const FileIdentity& identity, const std::string& path,
                       uint64_t own_job, std::vector<std::string>* running) {
  try {
    return recover_pending_file(directory, identity, path, own_job, running);
  } catch (const std::bad_alloc&) {
    return Status(Code::io, "not enough memory to look for logs in " + directory, ENOMEM);
  }
}

}  // namespace pmio
