// This process's membership in a job on this node: the log directory, the pool of segments, the files that
// are open.
//
// Directory of a job: <log directory>/job-<id, 16 hex digits>/ with
//   alive              every process of the job holds a shared flock on it; recovery may touch a job only if
//   it can get
//                      the exclusive one
//   seg-<rank>-<slot>  the segments (log/format.h)
//   ledger-<key>       what of a file has been drained (log/ledger.h); key: device and inode in hexadecimal
//   mark-<key>         what the file looked like when the job last wrote it (log/target_mark.h)
//   file-<key>         the shared control block of an open file (node/control.h), volatile
//   run-<key>-<number> shared runs (drain/run.h), volatile
// Of a file that was closed, its control block, ledger and mark may stay for the next one (node/spares.h).
//
// Threads: any thread may call any function. A background thread, started with the first logged file,
// prefaults segments and drains when the program is idle or the log fills; it makes no MPI call and blocks
// all signals.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "layout/provider.h"
#include "log/format.h"
#include "medium/medium.h"
#include "stats/counters.h"

namespace pmio {

// What the processes of a job must have in common, so that they see each other's logs and know who lives.
struct JobPlace {
  uint64_t device = 0, inode = 0;  // of a file in the job's directory
  uint64_t processes = 0;          // which process numbers mean the same
  bool operator==(const JobPlace&) const = default;
};

// What the job's processes on this node know together of a log whose directory has been removed.
struct SharedLoss {
  std::atomic<uint32_t> known;  // 1: one has found that out
  std::atomic<uint32_t> dirty;  // so many of them may have something in the log that is in no file
};

constexpr uint64_t kDefaultMaxAgeNs = 2'000'000'000;

struct JobOptions {
  std::string directory;        // the log directory (not the job's own)
  uint64_t id = 0;              // the same in all processes of the job
  uint32_t rank = 0;            // world rank; of those on this node, whose ranks share the id
  uint32_t ranks = 1;           // of the job
  uint32_t ranks_here = 0;      // of them on this node; 0: all
  uint64_t capacity_bytes = 0;  // of this rank's log; 0: choose (default_capacity); else at most so much
  uint64_t index_bytes =
      256 << 20;  // bound of a file's runs in DRAM; beyond it they are placed on the log medium
  bool threads_at_once = false;  // of some rank: their calls come in no order that all ranks know
  Durability durability = Durability::sync;
  bool background = true;  // drain while the program does something else
  // By the background thread: what has been in the log for so long, while the program goes on writing; 0: not
  // for its age.
  uint64_t max_age_ns = kDefaultMaxAgeNs;
  bool keep_closed = true;              // files may rest after a close (node/resting.cpp)
  MediumOpener open_log = open_medium;  // for the job's own directory
  // Asked when the job's directory is there; an error is join's. Empty: any place will do.
  std::function<Status(const JobPlace&)> suits = {};
  // For what the user should hear; by any thread. Empty: nobody does.
  std::function<void(const std::string&)> say = {};
  // Rendezvous::files_logged; outlives the job. nullptr: nobody counts.
  std::atomic<uint64_t>* files_logged = nullptr;
  SharedLoss* loss = nullptr;                    // Rendezvous::loss, likewise
  std::atomic<uint64_t>* logs_in_use = nullptr;  // Rendezvous::logs_in_use, likewise
};

class File;
class Neighbours;
class SegmentPool;

class Job {
 public:
  // Creates or joins the job's directory. Not collective: the first process to come creates.
  static Result<std::unique_ptr<Job>> join(const JobOptions& options);
  // No thread of pmio's own drains any more, nor will. Before what OpenOptions::neighbours refers to goes.
  void stop_background();
  // Before the process ends without ~Job, or becomes another program: what this rank can bring into the files
  // is there on return. The rest stays in the log, and one process of the node says so. Waits as long as the
  // drain gets on, and a few seconds longer. Later writes go to the files, and take more time. Any thread.
  void end();
  // The same in a signal handler; only with JobOptions::background.
  void end_in_handler();
  // It does not end: it counts as alive again, and goes on without the log.
  void go_on();
  // Drains what is left, leaves; the last process removes the job's directory unless a file failed to drain.
  ~Job();

  struct OpenOptions {
    std::string path;  // absolute, no MPI-IO prefix
    bool read_only = false;
    LayoutHints layout;  // of the first process of the job that has the file open; all others follow it
    Neighbours* neighbours = nullptr;  // where the ranks of the open are on several nodes
  };
  // The file behind path (which exists), shared by all handles of this process on the same device and inode.
  // invalid: not a regular file. access: cannot be opened as needed.
  Result<std::shared_ptr<File>> open(const OpenOptions& options);
  // no_space: a quarter of the file descriptors that this process may have, beside those that are reserved,
  // is in use. The rest is the
  // program's and its MPI library's: a further file should not be logged, which takes one descriptor more
  // than it takes without.
  Status require_descriptors() const;
  // So many more than the program and the files need are to be open; where the process's limit is too low for
  // that it is raised. no_space: it cannot be raised so far.
  Status reserve_descriptors(uint64_t more);
  // The open file of that identity in this process or, if only other local ranks have it, attached now by
  // path; nullptr if no rank of the job has it open. An error: some rank has, but it cannot be attached.
  Result<std::shared_ptr<File>> find(const FileIdentity& identity, const std::string& path);
  // The open file that was given this number by join_nodes; nullptr if there is none in this process.
  std::shared_ptr<File> find_number(uint64_t number);

  // Whether somebody has removed the log directory: no file is logged any more, and open() fails.
  bool has_lost_log();

  const JobOptions& options() const;
  JobPlace place() const;
  const std::string& directory() const;  // the job's own
  Medium& medium();
  Counters& counters();

  struct Impl;  // private to the node layer

 private:
  friend class File;
  Job();
  std::unique_ptr<Impl> impl_;
};

}  // namespace pmio
