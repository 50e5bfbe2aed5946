// This process's membership in a job on this node: the log directory, who lives, the pool of segments. It
// knows no files.
//
// Directory of a job: <log directory>/job-<id, 16 hex digits>/ with
//   alive              every process of the job holds a shared flock on it; recovery may touch a job only if
//                      it can get the exclusive one
//   lock               the flock of DirectoryLock
//   undrained          kKeepMark
//   seg-<rank>-<slot>  the segments (log/format.h)
// and what the node layer puts there for each file (node/shared_files.h).
//
// Threads: any.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "job/options.h"
#include "job/pool.h"
#include "medium/medium.h"
#include "stats/counters.h"

namespace pmio {

// In a job's directory: its log is to be kept.
constexpr char kKeepMark[] = "undrained";

class Membership {
 public:
  // Whether a process of the job that has died has left something undrained in its directory. Asked when
  // nobody else is in the job any more.
  using LeftUndrained = bool (*)(Medium& medium);
  // Creates or joins the job's directory. Not collective: the first process to come creates it.
  static Result<std::unique_ptr<Membership>> join(const JobOptions& options, LeftUndrained left_undrained);
  // This process does not count as alive any more; remove_if_last.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  const JobOptions& options() const { return options_; }  // capacity_bytes: as it was chosen
  const std::string& directory() const { return directory_; }
  Medium& medium() { return *medium_; }
  const Medium& medium() const { return *medium_; }
  // For scratch that need not outlive the process: memory, or the log medium if there is no other.
  Medium& scratch() { return dram_ != nullptr ? *dram_ : *medium_; }
  SegmentPool& pool() { return *pool_; }
  Counters& counters() { return counters_; }
  int32_t process() const { return process_; }
  JobPlace place() const;

  bool spans_nodes() const;
  // The ranks of the job on this node, ascending. A rank's seat is its place among them.
  std::span<const uint32_t> ranks_of_node() const { return of_node_; }
  uint32_t seat() const { return seat_; }  // this rank's
  // What the log acknowledged survives a power failure, so what the drain takes out of it has to as well.
  bool outlives_node() const;
  // Whether what a fence has covered outlives a power failure, if the log does at all.
  bool durable_fences() const;

  // Nothing is logged any more: what is written goes to the files, behind what is in the log.
  bool is_past_log() const { return past_log_.load(std::memory_order_relaxed); }
  void go_past_log() { past_log_.store(true, std::memory_order_seq_cst); }
  // Tells recovery that this process lives (log/last_seen.h).
  void note_seen() const;
  // Whether the names in the job's directory are gone, though this process has not removed them itself.
  bool names_are_gone() const;

  // The log must outlive the job: leaves a mark that says so, as far as that can be made.
  void keep_log();
  bool log_is_kept() const;
  // Removes the job's directory, if nobody else has the job any more, the log is not kept, and nothing in it
  // is undrained.
  void remove_if_last();
  // This process counts as alive again, after remove_if_last.
  void go_on();

  // no_space: a quarter of the file descriptors that this process may have, beside those that are reserved,
  // is in use. The rest is the program's and its MPI library's: a further file should not be logged, which
  // takes one descriptor more than it takes without.
  Status require_descriptors() const;
  // So many more than the program and the files need are to be open. The process's limit is raised if it is
  // too low for that. no_space: it cannot be raised so far.
  Status reserve_descriptors(uint64_t more);

 private:
  friend class DirectoryLock;
  Membership(const JobOptions& options, LeftUndrained left_undrained);
  Status enter_directory();
  Status choose_capacity();
  void find_scratch();

  JobOptions options_;
  const std::vector<uint32_t> of_node_;
  const uint32_t seat_;
  const LeftUndrained left_undrained_;
  const std::string directory_;
  std::unique_ptr<Medium> medium_;
  std::unique_ptr<Medium> dram_;  // null: the log medium is DRAM itself, or there is no other
  int alive_fd_ = -1;
  bool is_noted_ = false;  // in the registry, by this process too
  int lock_fd_ = -1;       // of DirectoryLock, for which there may be no descriptor left later
  Mutex directory_mutex_;  // likewise, between this process's threads
  std::unique_ptr<SegmentPool> pool_;
  Counters counters_;
  std::atomic<uint64_t> reserved_descriptors_{0};
  std::atomic<bool> past_log_{false};
  std::atomic<bool> kept_{false};     // keep_log was called here
  const int32_t process_ = getpid();  // that has joined
};

// Holds the flock of the job's directory for as long as it lives; orders attaching to files and leaving them
// between processes.
class DirectoryLock {
 public:
  explicit DirectoryLock(Membership& member);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_;
  LockGuard<Mutex> of_threads_;
};

}  // namespace pmio
