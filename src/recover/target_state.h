// Finds the file of a log again, and looks whether somebody else has changed it since the crash.
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

// The recorded file, under the first path that leads to it. Errors: as of open(2); invalid: it is another
// file.
Result<std::unique_ptr<TargetFile>> find_target(const FileInfo& file, const std::vector<std::string>& paths,
                                                bool to_write = true);
// Whether no file has any of these names, in the file system that the file was in, as far as its device
// tells.
bool is_gone(const FileInfo& file, const std::vector<std::string>& paths);

// What it was like and what it is like now, in words, if somebody has changed the file since its job last
// wrote it. The job's mark tells it (log/target_mark.h). For a file of several nodes the times tell it at
// which job and recoveries were last seen (log/last_seen.h). An error: the file cannot be looked at.
Result<std::optional<std::string>> changed_by_others(const LogDirectory& job, const FileInfo& file,
                                                     const std::vector<std::string>& paths);
// Has the mark say that the file is being written, before recovery writes it: else a repetition would take
// that for a change. For a file of several nodes it says that a recovery is at it now, which must be said
// again at intervals.
Status mark_writing(const LogDirectory& job, const FileInfo& file, const MediumOpener& open_log);
// Has the mark say that recovery leaves the file as it is now, and keeps the log. ahead: TargetMark::settled.
void mark_settled(const LogDirectory& job, const FileInfo& file, const std::vector<std::string>& paths,
                  bool ahead, const MediumOpener& open_log);

}  // namespace pmio
