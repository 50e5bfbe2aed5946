// Reads a log directory that a crash has left behind, and trusts nothing in it. The directory must be the
// caller's own, no symbolic link is followed, and files are mapped read-only. Nothing is created but locks
// and times.
//
// There are two kinds of flock, each on a file that nothing else depends on:
//   <log directory>/recover.lock
//       exclusive. Whoever recovers holds it, and whoever asks whether a job is alive. So a question is never
//       taken for a running job, and two recoveries come one by one.
//   <log directory>/job-<id>/alive
//       shared by every process of the job (node/job.h). Whoever gets it exclusively knows that the job is
//       dead. It is unlinked while it is held, so whoever gets it must check that the name still leads to it;
//       FileLock does.
//
// Threads: values that belong to one thread; any number of them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "medium/directory.h"

namespace pmio {

// The bytes of a file, mapped read-only for as long as this lives.
class MappedFile {
 public:
  MappedFile(const void* base, size_t size) : base_(base), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(base_), size_}; }

 private:
  const void* base_;
  size_t size_;
};

// An exclusive flock, released at the end.
class FileLock {
 public:
  // Creates the file (0600) if it is missing. busy: somebody else holds it, and wait is false.
  static Result<FileLock> take(int directory_fd, const std::string& name, bool wait);

 private:
  explicit FileLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

class LogDirectory {
 public:
  // access: it belongs to somebody else, others may write to it, or it is a symbolic link. system_errno() is
  // ENOENT if there is none.
  static Result<LogDirectory> open(const std::string& path);
  Result<LogDirectory> open_below(const std::string& name) const;

  const std::string& path() const { return path_; }
  Result<std::vector<std::string>> names() const;  // without . and .., sorted
  bool has(const std::string& name) const;
  // Maps a regular file of the caller's as a whole; an empty file gives an empty span.
  Result<std::shared_ptr<MappedFile>> map(const std::string& name) const;
  Result<FileLock> lock(const std::string& name, bool wait) const {
    return FileLock::take(fd_.get(), name, wait);
  }
  // Says that somebody is at it now (log/last_seen.h), in a file that is made (0600) if it is missing.
  Status note_seen(const std::string& name) const;
  Status remove(const std::string& name) const;            // a name that is not there is ok
  Status remove_directory(const std::string& name) const;  // it must be empty; likewise
  Status rename(const std::string& from, const std::string& to) const;
  Status sync() const;  // the removals above, and the new name, are durable on return

 private:
  LogDirectory(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static Result<LogDirectory> open_at(int at, const std::string& name, const std::string& path);
  FileDescriptor fd_;
  std::string path_;
};

constexpr const char* kRecoverLock = "recover.lock";

}  // namespace pmio
