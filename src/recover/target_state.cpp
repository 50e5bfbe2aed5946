#include "recover/target_state.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include "base/clock.h"
#include "log/last_seen.h"
#include "node/control.h"
#include "recover/journal.h"

namespace pmio {
namespace {

using Target = std::unique_ptr<TargetFile>;

Result<Target> open_found(const std::string& path, const FileInfo& file, bool to_write) {
  const bool recorded = std::find(file.paths.begin(), file.paths.end(), path) != file.paths.end();
  const auto open = recorded ? TargetFile::open_recorded : TargetFile::open_same;
  using Access = TargetFile::Access;
  auto target = open(path, file.target, to_write ? Access::read_write : Access::read_only);
  // A file that its owner may write and not read was written by the program all the same.
  if (!target.ok() && target.status().code() == Code::access)
    return open(path, file.target, Access::write_only);
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

std::string time_text(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / kSecondNs);
  tm parts{};
  char text[32] = "?";
  if (localtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string state_text(const FileState& state) {
  return std::to_string(state.size_bytes) + " bytes, written " + time_text(state.mtime_ns);
}

}  // namespace

std::string mark_name(const FileInfo& file) { return "mark-" + file_key(file.target); }
std::string seen_name(const FileInfo& file) { return "seen-" + file_key(file.target); }

Result<std::unique_ptr<TargetFile>> find_target(const FileInfo& file, const std::vector<std::string>& paths,
                                                bool to_write) {
  Status reason(Code::invalid, "the log does not tell the file's path");
  for (const std::string& path : paths) {
    auto target = open_found(path, file, to_write);
    if (target.ok()) return target;
    reason = target.status();
    if (reason.system_errno() == ENOENT) {
      reason = Status(Code::io, path + " is gone; if it was moved, move it back and repeat", ENOENT);
    }
  }
  return reason;
}

bool is_gone(const FileInfo& file, const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [&file](const std::string& path) {
    struct stat facts {};
    if (lstat(path.c_str(), &facts) == 0) return false;
    // If that is another one, it may not be mounted.
    auto there = std::filesystem::path(path).parent_path();
    while (stat(there.c_str(), &facts) != 0) {
      if (errno != ENOENT || there == there.parent_path()) return false;
      there = there.parent_path();
    }
    return facts.st_dev == file.target.device;
  });
}

Result<std::optional<std::string>> changed_by_others(const LogDirectory& job, const FileInfo& file,
                                                     const std::vector<std::string>& paths) {
  const auto seen = file.nodes ? seen_here(job, file) : std::nullopt;
  const auto mark = job.map(mark_name(file));
  std::optional<std::string> unchanged;
  if (file.nodes ? !seen : !mark.ok()) return unchanged;
  auto target = find_target(file, paths);
  if (!target.ok()) return target.status();
  auto state = target.value()->state();
  if (!state.ok()) return state.status();
  if (!file.nodes) {
    const auto bytes = (*mark.value()).bytes();
    if (!changed_since(bytes, *state, this_boot())) return unchanged;
    const std::string left = state_text(settled_state(bytes).value_or(FileState{}));
    return std::optional("then " + left + "; now " + state_text(*state));
  }
  uint64_t newest = *seen;
  // Another job's, too: its log of the same file is recovered as well.
  for (const Journal::Of& other : Journal::all_beside((*target)->path(), file.target.inode)) {
    const std::string journal = Journal::path_of((*target)->path(), other, file.target.inode);
    newest = std::max(newest, Journal::changed_ns(journal).value_or(0));
  }
  if (state->mtime_ns <= newest + kSeenMarginNs) return unchanged;
  return std::optional("the job, or its recovery, was last at it " + time_text(newest) + "; now " +
                       state_text(*state));
}

Status mark_writing(const LogDirectory& job, const FileInfo& file, const MediumOpener& open_log) {
  if (file.nodes) {
    // If it cannot be said, as on a full medium, a repetition after an interruption asks for --force.
    static_cast<void>(job.note_seen(seen_name(file)));
    return {};
  }
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
