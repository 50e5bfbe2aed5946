// The statistics directories: stats-<job id>/job.json and rank-<rank>.json below the log directory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <tuple>
#include <vector>

#include "base/memory_limits.h"
#include "stats/write.h"

namespace pmio {

namespace {

constexpr size_t kKeptJobs = 16;
constexpr char kPrefix[] = "stats-";
constexpr const char* kOneFile = "cannot write a statistics file";  // the same words on all ranks

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

Status write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::from_errno(errno, kOneFile);
    done += static_cast<size_t>(written);
  }
  return Status();
}

// A reader sees the whole file or none.
Status replace_file(int directory, const std::string& name, const std::string& text) {
  if (text.size() > largest_file_bytes()) return Status::from_errno(EFBIG, kOneFile);
  const std::string temporary = "." + name + ".new";
  unlinkat(directory, temporary.c_str(), 0);  // of a process that died here
  const int fd =
      openat(directory, temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Status::from_errno(errno, kOneFile);
  Status status = write_all(fd, text);
  if (::close(fd) != 0 && status.ok()) status = Status::from_errno(errno, kOneFile);
  if (status.ok() && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
    status = Status::from_errno(errno, kOneFile);
  if (!status.ok()) unlinkat(directory, temporary.c_str(), 0);
  return status;
}

}  // namespace

static std::string name_of(const RunFacts& facts) {
  char name[sizeof kPrefix + 16];
  std::snprintf(name, sizeof name, "%s%016llx", kPrefix, static_cast<unsigned long long>(facts.job));
  return name;
}

// write: with the job's directory, and whether that was not there.
static Status open_and_write(const std::string& log_directory, const std::string& own,
                             const std::function<Status(int job, bool made)>& write) {
  const OpenDirectory log(AT_FDCWD, log_directory.c_str());
  if (!log.ok()) return Status::from_errno(errno, "statistics in " + log_directory);
  const bool made = mkdirat(log.fd(), own.c_str(), 0700) == 0;
  if (!made && errno != EEXIST)
    return Status::from_errno(errno, "statistics directory " + log_directory + "/" + own);
  const OpenDirectory job(log.fd(), own.c_str());
  if (!job.ok()) return Status::from_errno(errno, "statistics directory " + log_directory + "/" + own);
  if (made) keep_newest(log, own);
  return write(job.fd(), made);
}

Status announce_statistics(const std::string& log_directory, const RunFacts& facts) {
  return open_and_write(log_directory, name_of(facts), [&facts](int job, bool made) {
    return made ? replace_file(job, "job.json", announcement_json(facts)) : Status();
  });
}

Status write_statistics(const std::string& log_directory, const RunFacts& facts, const Counters& counters,
                        const FileList& files, const History::Points& history) {
  return open_and_write(log_directory, name_of(facts), [&](int job, bool) {
    return replace_file(job, "rank-" + std::to_string(facts.rank) + ".json",
                        statistics_json(facts, counters, files, history));
  });
}

}  // namespace pmio
