#include "recover/target_state.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "log/last_seen.h"
#include "node/control.h"
#include "recover/journal.h"

namespace pmio {
namespace {

using Target = std::unique_ptr<TargetFile>;

Result<Target> open_writable(const std::string& path, const FileInfo& file) {
  const bool recorded = std::find(file.paths.begin(), file.paths.end(), path) != file.paths.end();
  const auto open = recorded ? TargetFile::open_recorded : TargetFile::open_same;
  auto target = open(path, file.target, TargetFile::Access::read_write);
  // A file that its owner may write and not read was written by the program all the same.
  if (!target.ok() && target.status().code() == Code::access)
    return open(path, file.target, TargetFile::Access::write_only);
  return target;
}

// When the job, or a recovery here, was last at the file; nullopt: the job never said that it was.
std::optional<uint64_t> seen_here(const LogDirectory& job, const FileInfo& file) {
  const auto said_in = [&job](const std::string& name) -> std::optional<uint64_t> {
    const auto mapping = job.map(name);
    return mapping.ok() ? parse_last_seen((*mapping.value()).bytes()) : std::nullopt;
  };
  const auto lived = said_in(kAlive);
  return lived ? std::optional(std::max(*lived, said_in(seen_name(file)).value_or(0))) : std::nullopt;
}

}  // namespace

std::string mark_name(const FileInfo& file) { return "mark-" + file_key(file.target); }
std::string seen_name(const FileInfo& file) { return "seen-" + file_key(file.target); }

Result<std::unique_ptr<TargetFile>> find_target(const FileInfo& file, const std::vector<std::string>& paths) {
  Status reason(Code::invalid, "the log does not tell the file's path");
  for (const std::string& path : paths) {
    auto target = open_writable(path, file);
    if (target.ok()) return target;
    reason = target.status();
    if (reason.system_errno() == ENOENT) {
      reason = Status(Code::io, path + " is gone; if it was moved, move it back and repeat", ENOENT);
    }
  }
  return reason;
}

bool is_gone(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code error;
    const auto parent = std::filesystem::path(path).parent_path();
    return std::filesystem::is_directory(parent, error) &&
           std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found;
  });
}

bool changed_by_others(const LogDirectory& job, uint64_t job_id, const FileInfo& file,
                       const std::vector<std::string>& paths) {
  const auto seen = file.nodes ? seen_here(job, file) : std::nullopt;
  const auto mark = job.map(mark_name(file));
  if (file.nodes ? !seen : !mark.ok()) return false;
  auto target = find_target(file, paths);
  if (!target.ok()) return false;
  auto state = target.value()->state();
  if (!state.ok()) return false;
  if (!file.nodes) return changed_since((*mark.value()).bytes(), *state, this_boot());
  const auto journal = Journal::changed_ns(Journal::path_of((*target)->path(), job_id, file.target.inode));
  return state->mtime_ns > std::max(*seen, journal.value_or(0)) + kSeenMarginNs;
}

Status mark_writing(const LogDirectory& job, const FileInfo& file, const MediumOpener& open_log) {
  if (file.nodes) return job.note_seen(seen_name(file));
  if (!job.has(mark_name(file))) return {};
  auto medium = open_log(job.path(), Durability::always);
  if (!medium.ok()) return medium.status();
  auto mark = TargetMark::open(**medium, mark_name(file));
  return mark.ok() ? mark->writing() : Status();  // one that cannot be opened says nothing, now and later
}

void mark_settled(const LogDirectory& job, const FileInfo& file, const std::vector<std::string>& paths,
                  bool ahead, const MediumOpener& open_log) {
  if (!job.has(mark_name(file))) return;
  auto medium = open_log(job.path(), Durability::always);
  auto target = find_target(file, paths);
  if (!medium.ok() || !target.ok()) return;
  auto mark = TargetMark::open(**medium, mark_name(file));
  auto state = target.value()->state();
  if (mark.ok() && state.ok()) mark->settled(*state, ahead);
}

}  // namespace pmio
