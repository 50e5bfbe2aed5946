#include "recover/held.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "drain/target.h"

namespace pmio {
namespace {

// As jobs record it: with the directory's links resolved.
std::string recorded_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given(path);
  const auto directory =
      std::filesystem::canonical(given.has_parent_path() ? given.parent_path() : ".", error);
  return error ? path : (directory / given.filename()).string();
}

}  // namespace

// A file that is there is known by what it is, for an older one of its name may be in a log, too.
bool is_file_at(const FileInfo& file, const std::string& path) {
  const Result<FileIdentity> identity = identity_of(path);
  if (identity.ok()) return is_recorded(file.target, identity.value());
  return std::find(file.paths.begin(), file.paths.end(), recorded_path(path)) != file.paths.end();
}

Result<HeldBytes> held_bytes(const std::string& directory, const std::string& path) {
  auto jobs = scan(directory);
  if (!jobs.ok()) return jobs.status();
  HeldBytes held;
  for (const JobInfo& job : *jobs) {
    for (const FileInfo& file : job.files) {
      if (file.discarded || !is_file_at(file, path)) continue;
      if (job.state == JobState::running) held.running += file.bytes_to_come();
      if (job.state == JobState::dead) held.dead += file.undrained_bytes();
      if (job.state == JobState::unknown && file.undrained_bytes() > 0) held.is_unknown = true;
    }
  }
  return held;
}

}  // namespace pmio
