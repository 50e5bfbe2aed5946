// A job on this node, as this process has joined it: its membership (job/membership.h), and the files that
// are open.
//
// Threads: any thread may call any function. A background thread, started with the first logged file,
// prefaults segments. It drains when the program is idle or the log fills. It makes no MPI call and blocks
// all signals.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "job/options.h"
#include "layout/provider.h"
#include "log/format.h"
#include "medium/medium.h"
#include "node/reach.h"
#include "stats/counters.h"
#include "stats/history.h"

namespace pmio {

class File;

class Job {
 public:
  // Creates or joins the job's directory. Not collective: the first process to come creates.
  static Result<std::unique_ptr<Job>> join(const JobOptions& options);
  // No thread of pmio's own drains any more, nor will. Before what OpenOptions::reach refers to goes.
  void stop_background();
  // Before the process ends without ~Job, or becomes another program: what this rank can bring into the files
  // is there on return. The rest stays in the log, and one process of the node says so. Waits as long as the
  // drain gets on, and a few seconds longer. Later writes go to the files, and take more time. Any thread.
  void end();
  // The same in a signal handler; only with JobOptions::background.
  void end_in_handler();
  // After end(), of a process that ends by exit: a little while, until the node's other ranks have come so
  // far.
  void await_others_end() const;
  // It does not end: it counts as alive again, and goes on without the log.
  void go_on();
  // Drains what is left, leaves; the last process removes the job's directory unless a file failed to drain.
  ~Job();

  struct OpenOptions {
    std::string path;  // absolute, no MPI-IO prefix
    bool read_only = false;
    LayoutHints layout;     // of the first process of the job that has the file open; all others follow it
    ReachMaker reach = {};  // of a file whose ranks are on several nodes: Spanning::over
    bool closes_in_background = false;  // SharedFile::closes_in_background
    // Not drained because nobody writes or because it is old, as long as all handles of the process want
    // that.
    bool holds_back = false;
    DirectFrom direct_from = {};  // if the ranks are on one node; the first handle of the process decides
  };
  // The file behind path (which exists), shared by all handles of this process on the same device and inode.
  // invalid: not a regular file. access: cannot be opened as needed. busy: it is open by ranks of another
  // span.
  Result<std::shared_ptr<File>> open(const OpenOptions& options);
  // As Membership's of the same names; the first one completes files that lag, if it has to.
  Status require_descriptors();
  Status reserve_descriptors(uint64_t more);
  // The open file of that identity in this process. If only other local ranks have it, it is attached to now
  // by path. nullptr: no rank of the job has it open. An error: some rank has, but it cannot be attached.
  Result<std::shared_ptr<File>> find(const FileIdentity& identity, const std::string& path);
  // The one of this process alone.
  std::shared_ptr<File> find_here(const FileIdentity& identity);
  // Whether a rank of this node has it open for the log, with ranks of that span, or has closed it and not
  // completed it.
  bool is_open(const FileIdentity& identity, Span span);
  // The open file to which the nodes have given this number; nullptr if there is none in this process.
  std::shared_ptr<File> find_number(uint64_t number);
  // The file of this inode, whatever its device is here, and span: open, lagging, or closed with an error.
  // nullptr if there is none in this process.
  std::shared_ptr<File> find_inode(uint64_t inode, uint64_t birth_ns, Span span);

  // Whether a file of this process lags (Closing::lags).
  bool has_lagging_files();
  // The last chance of those that lag, as long as other nodes still answer. Says what fails.
  void complete_lagging_files();

  // Whether somebody has removed the log directory: no file is logged any more, and open() fails.
  bool has_lost_log();

  const JobOptions& options() const;
  JobPlace place() const;
  const std::string& directory() const;  // the job's own
  Medium& medium();
  Counters& counters();
  // So far, with files that are open. By any thread.
  HistoryNumbers look();

  struct Impl;  // private to the layers node and span

 private:
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pmio
