// The statistics directories: stats-<job id>/rank-<rank>.json below the log directory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <tuple>
#include <vector>

#include "base/memory_limits.h"
#include "stats/counters.h"

namespace pmio {

namespace {

constexpr size_t kKeptJobs = 16;
constexpr char kPrefix[] = "stats-";

class OpenDirectory {
 public:
  OpenDirectory(int parent, const char* name)
      : stream_(nullptr), fd_(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    if (fd_ >= 0) stream_ = fdopendir(fd_);
  }
  OpenDirectory(const OpenDirectory&) = delete;
  ~OpenDirectory() {
    if (stream_ != nullptr)
      closedir(stream_);
    else if (fd_ >= 0)
      ::close(fd_);
  }
  bool ok() const { return stream_ != nullptr; }
  int fd() const { return fd_; }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    while (const dirent* entry = readdir(stream_)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") result.push_back(name);
    }
    return result;
  }

 private:
  DIR* stream_;
  int fd_;
};

void remove_job(int parent, const std::string& name) {
  {
    const OpenDirectory job(parent, name.c_str());
    if (!job.ok()) return;
    for (const std::string& file : job.names()) unlinkat(job.fd(), file.c_str(), 0);
  }
  unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// Other ranks may be doing the same: what is gone already is no error, and what cannot be removed stays.
void keep_newest(const OpenDirectory& log, const std::string& own) {
  std::vector<std::tuple<int64_t, int64_t, std::string>> jobs;
  for (const std::string& name : log.names()) {
    struct stat facts;
    if (name.rfind(kPrefix, 0) != 0 || name == own) continue;
    if (fstatat(log.fd(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(facts.st_mode))
      continue;
    jobs.emplace_back(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, name);
  }
  std::sort(jobs.rbegin(), jobs.rend());
  for (size_t i = kKeptJobs - 1; i < jobs.size(); ++i) remove_job(log.fd(), std::get<2>(jobs[i]));
}

Status write_all(int fd, const std::string& text, const std::string& name) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::from_errno(errno, name);
    done += static_cast<size_t>(written);
  }
  return Status();
}

// A reader sees the whole file or none.
Status replace_file(int directory, const std::string& name, const std::string& text) {
  if (text.size() > largest_file_bytes()) return Status::from_errno(EFBIG, "statistics file " + name);
  const std::string temporary = "." + name + ".new";
  unlinkat(directory, temporary.c_str(), 0);  // of a process that died here
  const int fd =
      openat(directory, temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Status::from_errno(errno, "statistics file " + name);
  Status status = write_all(fd, text, "statistics file " + name);
  if (::close(fd) != 0 && status.ok()) status = Status::from_errno(errno, "statistics file " + name);
  if (status.ok() && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
    status = Status::from_errno(errno, "statistics file " + name);
  if (!status.ok()) unlinkat(directory, temporary.c_str(), 0);
  return status;
}

}  // namespace

Status write_statistics(const std::string& log_directory, const RunFacts& facts, const Counters& counters) {
  char own[sizeof kPrefix + 16];
  std::snprintf(own, sizeof own, "%s%016llx", kPrefix, static_cast<unsigned long long>(facts.job));
  const OpenDirectory log(AT_FDCWD, log_directory.c_str());
  if (!log.ok()) return Status::from_errno(errno, "statistics in " + log_directory);
  if (mkdirat(log.fd(), own, 0700) != 0 && errno != EEXIST)
    return Status::from_errno(errno, "statistics directory " + log_directory + "/" + own);
  keep_newest(log, own);
  const OpenDirectory job(log.fd(), own);
  if (!job.ok()) return Status::from_errno(errno, "statistics directory " + log_directory + "/" + own);
  return replace_file(job.fd(), "rank-" + std::to_string(facts.rank) + ".json",
                      statistics_json(facts, counters));
}

}  // namespace pmio
