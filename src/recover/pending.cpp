// Before a file is opened for logging (recover_pending).
#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "medium/job_name.h"
#include "recover/run.h"

namespace pmio {
namespace {

// As what the job's segments have recorded that file; nullopt: not at all. Where one of them cannot be read
// now it may have. Reads headers only.
Result<std::optional<FileIdentity>> recorded_as(const LogDirectory& job, const FileIdentity& identity,
                                                const std::string& path) {
  auto names = job.names();
  if (!names.ok()) return names.status();
  std::optional<FileIdentity> maybe;
  for (const std::string& name : *names) {
    if (name.compare(0, 4, "seg-") != 0) continue;
    auto mapping = job.map(name);
    if (!mapping.ok()) {
      if (mapping.status().system_errno() != ENOENT) maybe = identity;
      continue;
    }
    auto reader = SegmentReader::open((*mapping)->bytes());
    if (!reader.ok()) {
      if (reader.status().code() != Code::corrupt) maybe = identity;
      continue;
    }
    const FileIdentity& recorded = reader->header().target;
    if (same_file(recorded, identity) || (reader->path() == path && is_recorded(recorded, identity)))
      return std::optional(recorded);
  }
  return maybe;
}

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

Status recover_pending_file(const std::string& directory, const FileIdentity& identity,
                            const std::string& path, uint64_t own_job) {
  auto parent = LogDirectory::open(directory);
  if (!parent.ok()) return parent.status().system_errno() == ENOENT ? Status() : parent.status();
  auto names = job_names(*parent);
  if (!names.ok()) return names.status();
  const std::string own = job_name(own_job);
  std::vector<FileIdentity> meant;  // under another device number in logs of before a mount
  std::vector<std::string> concerned;
  for (const std::string& name : *names) {
    if (name == own) continue;
    auto job = parent->open_below(name);
    if (!job.ok() && (job.status().code() == Code::access || job.status().system_errno() == ENOENT)) continue;
    if (!job.ok()) return job.status();
    const auto recorded = recorded_as(*job, identity, path);
    if (!recorded.ok()) return recorded.status();
    if (!recorded.value()) continue;
    concerned.push_back(name);
    if (std::find(meant.begin(), meant.end(), *recorded.value()) == meant.end())
      meant.push_back(*recorded.value());
  }
  RecoverOptions options;
  options.directory = directory;
  for (const FileIdentity& one : meant) {
    auto report = recover_in(*parent, concerned, {one, path}, options, &one);
    if (!report.ok()) return report.status();
    PMIO_TRY(pending_status(*report));
  }
  return {};
}

}  // namespace

Status recover_pending(const std::string& directory, const FileIdentity& identity, const std::string& path,
                       uint64_t own_job) {
  try {
    return recover_pending_file(directory, identity, path, own_job);
  } catch (const std::bad_alloc&) {
    return Status(Code::io, "not enough memory to look for logs in " + directory, ENOMEM);
  }
}

}  // namespace pmio
