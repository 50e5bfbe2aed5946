// The file that a log is of: found again, and looked at for what somebody else has changed since the crash.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drain/target.h"
#include "medium/medium.h"
#include "recover/scan.h"

namespace pmio {

std::string mark_name(const FileInfo& file);  // log/target_mark.h
std::string seen_name(const FileInfo& file);  // log/last_seen.h, of recoveries

// The file recorded, under the first path that leads to it. Errors: as of open(2); invalid: another file.
Result<std::unique_ptr<TargetFile>> find_target(const FileInfo& file, const std::vector<std::string>& paths,
                                                bool to_write = true);
// Nothing has any of these names, in the file system that the file was in, as far as its device tells.
bool is_gone(const FileInfo& file, const std::vector<std::string>& paths);

// Whether somebody has changed the file since its job last wrote it, as far as the job's mark tells
// (log/target_mark.h) or, of a file of several nodes, when job and recoveries were last seen
// (log/last_seen.h): then what it was like and what it is like now, in words; else nothing. An error: it
// cannot be looked at.
Result<std::optional<std::string>> changed_by_others(const LogDirectory& job, const FileInfo& file,
                                                     const std::vector<std::string>& paths);
// The mark says that the file is being written, before recovery does, lest a repetition take it for a change.
// Of a file of several nodes: that a recovery is at it now, which has to be said again every now and then.
Status mark_writing(const LogDirectory& job, const FileInfo& file, const MediumOpener& open_log);
// Recovery leaves the file as it is now, with the log kept. ahead: TargetMark::settled.
void mark_settled(const LogDirectory& job, const FileInfo& file, const std::vector<std::string>& paths,
                  bool ahead, const MediumOpener& open_log);

}  // namespace pmio
