// Tells an open which files the logs of other jobs belong to, without a look into each log of each dead job
// at each open. It reads headers only.
//
// What is known of a dead job's logs is kept as long as its directory does not change, because nobody logs
// there. The logs of a job that lives are looked at each time. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "log/format.h"
#include "recover/directory.h"

namespace pmio {

struct RecordedLogs {
  struct File {
    FileIdentity identity;
    std::string path;
  };
  std::vector<File> files;
  bool all_read = true;  // false: some log could not be read now, and may be of any file

  // The identity under which that file is recorded; nullopt: it is not. If not all logs could be read, it may
  // be.
  std::optional<FileIdentity> find(const FileIdentity& identity, const std::string& path) const;
};

// The names of the jobs in a log directory, without `own`; empty if there is no such directory.
Result<std::vector<std::string>> other_jobs(const std::string& directory, const std::string& own);
// The logs of one of them; nullptr: it is gone, or somebody else's.
Result<std::shared_ptr<const RecordedLogs>> logs_of(const std::string& directory, const std::string& job);

}  // namespace pmio
