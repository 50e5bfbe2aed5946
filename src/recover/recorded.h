// Which files the logs of other jobs are of, for an open that has to know it: without a look into each log of
// each job that ever died here, at each open. Reads headers only.
//
// What is known of a dead job's logs is kept for as long as its directory does not change: nobody logs there.
// Those of a job that lives are looked at each time. Threads: any.
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

  // As what that file is recorded; nullopt: not at all. Where not all could be read it may be.
  std::optional<FileIdentity> find(const FileIdentity& identity, const std::string& path) const;
};

// The jobs in a log directory, by name, but for `own`; empty where there is no such directory.
Result<std::vector<std::string>> other_jobs(const std::string& directory, const std::string& own);
// Of one of them; nullptr where it is gone, or somebody else's.
Result<std::shared_ptr<const RecordedLogs>> logs_of(const std::string& directory, const std::string& job);

}  // namespace pmio
