#include "recover/recorded.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "drain/target.h"
#include "log/last_seen.h"
#include "log/segment.h"
#include "recover/scan.h"

namespace pmio {
namespace {

// A directory's stamp is the same as long as nothing is put there or taken away.
struct Stamp {
  uint64_t device = 0, inode = 0, changed_ns = 0;
  bool operator==(const Stamp&) const = default;
};

// A change within the same tick of the file system's clock would not show.
constexpr uint64_t kMostTickNs = 100'000'000;
uint64_t tick_ns(std::string_view file_system) {
  timespec kernels{};
  if (!is_local(file_system) || clock_getres(CLOCK_REALTIME_COARSE, &kernels) != 0) return kMostTickNs;
  return std::min(kMostTickNs, 2 * static_cast<uint64_t>(kernels.tv_nsec));
}

std::optional<Stamp> stamp_of(const std::string& directory) {
  struct stat facts;
  if (stat(directory.c_str(), &facts) != 0) return {};
  return Stamp{facts.st_dev, facts.st_ino, to_ns(facts.st_mtim)};
}

bool shows_changes(const std::string& directory, const Stamp& stamp) {
  const FileDescriptor opened(open(directory.c_str(), O_PATH | O_CLOEXEC));
  const std::string file_system = opened.ok() ? file_system_of(opened.get(), stamp.device) : std::string();
  return tells_of_writes(file_system) && stamp.changed_ns + tick_ns(file_system) <= realtime_ns();
}

struct Known {
  using Jobs = std::map<std::string, std::pair<Stamp, std::vector<std::string>>>;
  using Logs = std::map<std::string, std::pair<Stamp, std::shared_ptr<const RecordedLogs>>>;
  Mutex mutex;
  Jobs jobs PMIO_GUARDED_BY(mutex);  // by the log directory
  Logs logs PMIO_GUARDED_BY(mutex);  // by the job's directory
};

Known& known() {
  static Known& all = *new Known;
  return all;
}

template <class Map>
auto recall(const Map& map, const std::string& directory, const Stamp& stamp) {
  const auto at = map.find(directory);
  using Value = std::optional<typename Map::mapped_type::second_type>;
  return at != map.end() && at->second.first == stamp ? Value(at->second.second) : Value();
}

Result<RecordedLogs> read_logs(const LogDirectory& job) {
  auto names = job.names();
  if (!names.ok()) return names.status();
  RecordedLogs logs;
  for (const std::string& name : *names) {
    if (name.compare(0, 4, "seg-") != 0) continue;
    auto mapping = job.map(name);
    if (!mapping.ok()) {
      if (mapping.status().system_errno() != ENOENT) logs.all_read = false;
      continue;
    }
    auto reader = SegmentReader::open((*mapping)->bytes());
    if (!reader.ok()) {
      if (reader.status().code() != Code::corrupt) logs.all_read = false;
      continue;
    }
    RecordedLogs::File file{reader->header().target, reader->path()};
    const auto is_it = [&file](const RecordedLogs::File& other) {
      return other.identity == file.identity && other.path == file.path;
    };
    if (std::none_of(logs.files.begin(), logs.files.end(), is_it)) logs.files.push_back(std::move(file));
  }
  return logs;
}

// Whether the job has died for good. A job that has just made its directory has logged nothing yet.
bool has_died(const LogDirectory& job) { return job.has(kAlive) && job.lock(kAlive, false).ok(); }

}  // namespace

std::optional<FileIdentity> RecordedLogs::find(const FileIdentity& identity, const std::string& path) const {
  for (const File& file : files) {
    if (same_file(file.identity, identity) || (file.path == path && is_recorded(file.identity, identity)))
      return file.identity;
  }
  return all_read ? std::nullopt : std::optional(identity);
}

Result<std::vector<std::string>> other_jobs(const std::string& directory, const std::string& own) {
  const auto stamp = stamp_of(directory);
  std::optional<std::vector<std::string>> names;
  if (stamp) {
    const LockGuard lock(known().mutex);
    names = recall(known().jobs, directory, *stamp);
  }
  if (!names) {
    auto parent = LogDirectory::open(directory);
    if (!parent.ok() && parent.status().system_errno() == ENOENT) return std::vector<std::string>();
    if (!parent.ok()) return parent.status();
    // Asked before the directory is listed, so that nothing that comes meanwhile is missed.
    const bool lasts = stamp && shows_changes(directory, *stamp);
    auto listed = job_names(*parent);
    if (!listed.ok()) return listed.status();
    names = std::move(listed).value();
    if (lasts) {
      const LockGuard lock(known().mutex);
      known().jobs[directory] = {*stamp, *names};
    }
  }
  std::erase(*names, own);
  return std::move(*names);
}

Result<std::shared_ptr<const RecordedLogs>> logs_of(const std::string& directory, const std::string& job) {
  const std::string path = directory + "/" + job;
  const auto stamp = stamp_of(path);
  if (stamp) {
    const LockGuard lock(known().mutex);
    if (auto logs = recall(known().logs, path, *stamp)) return *logs;
  }
  auto opened = LogDirectory::open(path);
  if (!opened.ok()) {
    const bool none = opened.status().code() == Code::access || opened.status().system_errno() == ENOENT;
    return none ? Result<std::shared_ptr<const RecordedLogs>>(nullptr) : opened.status();
  }
  const bool lasts = stamp && shows_changes(path, *stamp) && has_died(*opened);
  auto read = read_logs(*opened);
  if (!read.ok()) return read.status();
  auto logs = std::make_shared<const RecordedLogs>(std::move(read).value());
  if (lasts && logs->all_read && !logs->files.empty()) {
    const LockGuard lock(known().mutex);
    known().logs[path] = {*stamp, logs};
  }
  return std::shared_ptr<const RecordedLogs>(logs);
}

}  // namespace pmio
