// The files that this process has open in a job, and those that it keeps beyond their close.
//
// Lock order: Appender::mutex of a file, then this table's, then other files' Appender::mutex: by try_lock
// only.
//
// Threads: any.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "node/job.h"
#include "node/reach.h"

namespace pmio {

class Appender;

class FileTable {
 public:
  explicit FileTable(Job::Impl& job) : job_(job) {}

  // The File of a target that has just been opened for it: the one that is open, one that rests, or a new
  // one.
  Result<std::shared_ptr<File>> open(const Job::OpenOptions& how, const FileIdentity& identity,
                                     std::unique_ptr<TargetFile> target);
  // The one that is open; nullptr: none is.
  std::shared_ptr<File> find(const std::string& key);
  std::shared_ptr<File> find_number(uint64_t number);  // Reach::number
  std::shared_ptr<File> find_inode(uint64_t inode, uint64_t birth_ns, Span span);
  // It is held by a pointer only, and by no handle.
  void forget_handle(File& file);
  bool has_other_handles(const FileParts& file);

  // Before the drain of a close. False: the process has more handles of the file.
  bool begin_release(File& file);
  // After it. The caller holds the file's append lock. The last release gives back what this rank has of the
  // file, or lets it rest; after a failed drain the table keeps it. The result may be the last pointer to the
  // file: it goes after the append lock.
  [[nodiscard]] std::shared_ptr<File> end_release(File& file, const Status& drained,
                                                  const std::optional<RestingState>& resting);

  // The same for a file that may be complete later than its close (Closing::begin_lag). False: too many lag,
  // and the oldest one could not be completed; or nobody would complete it.
  bool begin_lag(File& file);
  [[nodiscard]] std::shared_ptr<File> end_release_later(File& file);
  std::vector<std::shared_ptr<File>> lagging();  // the oldest first
  // Drains a file that lags, at the caller's priority, and lets it go. One that is gone is discarded. A file
  // of several nodes is drained on all of them.
  Status complete(const std::shared_ptr<File>& file);
  // It cannot be completed: what is not in the file is recovery's.
  void give_up(const std::shared_ptr<File>& file);
  // complete() for that which has lagged longest. False: none lags, or it fails. A file's append lock may be
  // held.
  bool complete_oldest();
  bool is_closed(const FileParts& file);  // no handle of this process refers to it

  // Those that handles refer to, and those that lag.
  std::vector<std::shared_ptr<File>> open_files();
  // Drains them all; of several nodes, what can be without waiting for other nodes' ranks.
  Status drain_all();

  // Free a drained segment of some file of this process whose append lock is free.
  bool recycle_elsewhere(const Appender& own);  // the caller holds own's append lock
  bool recycle_any();                           // of any open file; no append lock held
  bool recycle_resting();                       // of a file that rests
  uint32_t resting_segments();                  // as far as nobody is just freeing them
  // The most of this rank's log so far that was not in files, for the statistics. A file's append lock may be
  // held.
  void note_fill();

  // Before the job goes.
  void clear();

 private:
  std::shared_ptr<File> wake(const std::string& key, const FileIdentity& identity, Span span,
                             std::unique_ptr<TargetFile>& target) PMIO_REQUIRES(mutex_);
  void rest(const std::shared_ptr<File>& file) PMIO_REQUIRES(mutex_);

  Job::Impl& job_;
  Mutex mutex_;  // guards what follows, and File's counts of handles
  std::map<std::string, std::weak_ptr<File>> files_ PMIO_GUARDED_BY(mutex_);  // by file_key
  // Those whose close could not drain them, until the end of the job: whoever opens them again goes on with
  // what is only in the log. Else nobody drains them, for recovery is told to.
  std::map<std::string, std::shared_ptr<File>> unfinished_ PMIO_GUARDED_BY(mutex_);
  // Those that lag: closed, and not complete as far as is known.
  std::deque<std::shared_ptr<File>> lagging_ PMIO_GUARDED_BY(mutex_);
  // Those that rest: closed, complete, and with what of them is still in this rank's log (decision 0014). The
  // last one closed last. In no other list.
  std::deque<std::shared_ptr<File>> resting_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
