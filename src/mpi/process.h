// This process as a member of its MPI job: whether pmio may log at all, and the Job once a file wants to be
// logged.
//
// Threads: start and finish from the thread that calls MPI_Init and MPI_Finalize; the rest any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cluster/claims.h"
#include "cluster/cluster.h"
#include "hints/hints.h"
#include "job/rendezvous.h"
#include "mpi/seen_files.h"
#include "mpi/straight_summary.h"
#include "node/job.h"
#include "preload/roll_call.h"
#include "stats/counters.h"
#include "stats/history.h"
#include "view/mpi_compat.h"

namespace pmio {

struct Handle;
class Opening;

// All ranks of a job on several nodes, or a group of them that is.
struct Group {
  std::unique_ptr<Cluster> cluster;  // null: it failed, for good; uses the job
  MPI_Comm comm{};                   // of its ranks, in the order of MPI_COMM_WORLD; if there is a cluster
  SeenFiles files{0};
};

class Process {
 public:
  static Process& instance();

  // After the library's MPI_Init; collective over MPI_COMM_WORLD.
  void start();
  // Before the library's MPI_Finalize; collective over MPI_COMM_WORLD. Writes the statistics, leaves the job.
  void finish();

  // What this rank did, for `pmio stats`; calls no MPI. finish does it; also of a program that ends without
  // it.
  void keep_statistics();

  // In a process that has been forked: the job is the parent's alone.
  void forget_in_child();

  // The same on all ranks: MPI_Init was seen and PMIO_MODE is not off.
  bool can_log() const { return can_log_; }

  // What was opened, for what is said at the end. reason: why it is not logged; empty: it is.
  void note_file(const std::string& path, std::string_view reason) { files_.add(path, reason); }
  // The same for a file that is opened while nothing can be logged at all.
  void note_unlogged_file(const char* name);

  // Of a file that went straight, and is closed or left open at the end.
  void note_straight(const Handle& handle, const FileNumbers& numbers);

  // Such a file is open: its numbers of the moment count in the history. Until note_straight.
  void watch_straight(const Handle& handle);

  // From now on there are statistics of each file, and they are kept even if nothing is logged.
  void start_statistics();

  // Of MPI_COMM_WORLD.
  int ranks() const { return ranks_; }
  // This rank's, from 0.
  uint32_t node() const { return place_.node; }
  // Whether the job's ranks are on several nodes. Then files are logged that all ranks open together, for
  // which join_nodes comes before everything else, or groups of ranks do (claims, join_group).
  bool spans_nodes() const { return spans_nodes_; }
  // Whether all ranks want files of any file system logged across nodes. Else only of those that are known to
  // show one node what another has written (shows_other_nodes).
  bool on_any_file_system() const { return across_nodes_ == AcrossNodes::on; }
  // Collective over all ranks of the job: the nodes find each other. Each rank comes with its first open of a
  // file by all of them. If threads open files at once, that need not be the same file on all ranks. Null, on
  // all ranks, where it fails or they cannot reach each other; for good.
  Cluster* join_nodes(const Hints& hints);
  // Collective over the ranks of the open, which are on several nodes and not all: the same for their nodes.
  // claims is not null.
  Cluster* join_group(const Hints& hints, Opening& opening, const char** why_not);
  // Local: of the ranks of the open, if they have joined and are in the order of MPI_COMM_WORLD; else null.
  // The same on all of them, if threads do not open files at once.
  Group* known_group(Opening& opening);
  bool leads_node() const;
  // Whether this rank of MPI_COMM_WORLD is on this node, if there are several.
  bool is_on_this_node(uint32_t rank) const;
  // By which ranks of one node, or of a group, ask whether they may log a file that others know nothing of.
  // Null, on all ranks: they are all on one node, or some leader could not listen.
  Claims* claims() const { return claims_.get(); }
  // Of all ranks of the job, numbered as in MPI_COMM_WORLD, for pmio's own messages. Not of a job of one
  // rank.
  MPI_Comm comm() const { return comm_; }
  // Whether threads may make calls at the same time (MPI_THREAD_MULTIPLE): on each rank in another order.
  bool threads_at_once() const { return threads_at_once_; }

  // Joins at the first call, with what these hints say; later hints cannot change the job any more. Where
  // that fails, it fails for good.
  Result<Job*> job(const Hints& hints);
  // The job if it has been joined, else nullptr.
  Job* joined() const { return joined_.load(std::memory_order_acquire); }
  // The log directory of the job, or that of a job joined with these hints.
  std::string log_directory(const Hints& hints) const;
  // The job's number, the same on all ranks.
  uint64_t id() const { return id_; }
  // As joined, but joins where other ranks have begun to log: what they log is of interest to this one.
  Job* joined_or_wanted(const Hints& hints);
  // Rendezvous::files_logged, of this node; nothing where its ranks share no memory.
  std::optional<uint64_t> files_logged() const;
  // No file has anything in a log of this node that a handle which does not log would have to know of. False
  // where that cannot be told.
  bool nothing_is_logged() const;
  // Whether some rank of this node has closed a file that may not be complete yet.
  bool some_file_lags();
  // Of a handle that does not log.
  void note_handed_on();
  // Whether the job's ranks are on one node and share memory there.
  bool shares_memory() const { return rendezvous_ != nullptr && !spans_nodes_; }
  // Rendezvous::first_to_say; true where the ranks share no memory.
  bool first_to_say(const std::string& text) const;
  // What the job was joined with, for MPI_File_get_info.
  Hints job_hints();

 private:
  using Groups = std::map<std::pair<std::vector<int>, Span>, Group>;
  // The next two, as whoever waits says so after a while.
  bool all_agree_to_log(const Hints& hints, bool threads_at_once);
  // By the roll call (preload/roll_call.h). False: some have no pmio, and will take part in nothing.
  bool all_take_part(const Hints& hints);
  // Collective over MPI_COMM_WORLD, as the next. The vote (preload/vote.h): false where one rank is against
  // it.
  bool all_may_log(const Hints& hints, bool threads_at_once);
  // False, on all ranks: nothing can be logged.
  bool meet_node(const std::string& interface);
  bool make_comm(MPI_Comm node);
  void number_node(MPI_Comm node);
  void start_claims(const std::string& interface, MPI_Comm node);
  NodeFiles node_files();
  Job* job_of_node();
  bool surrender(const FileIdentity& identity, const std::string& path);
  void share_identity(const std::string& interface, MPI_Comm node);
  Result<std::unique_ptr<Job>> join(const Hints& hints);
  // Collective over comm: of its ranks, or null on all of them. *span: kAllRanks, or is given to them.
  std::unique_ptr<Cluster> meet_nodes(const Hints& hints, MPI_Comm comm, Span* span);
  Groups::iterator find_group(const std::vector<int>& ranks) PMIO_REQUIRES(mutex_);
  Span new_span();
  void free_group_comms();
  RunFacts facts(Job* job) const;
  // pmio_stats_dir, of the environment, or the log directory. It is there on return.
  Result<std::string> statistics_directory(const Job* job) const;
  HistoryNumbers look();
  void report(int stats_level);

  bool can_log_ = false;
  bool spans_nodes_ = false;
  bool threads_at_once_ = false;
  AcrossNodes across_nodes_ = AcrossNodes::off;  // the least that any rank wants
  int stats_level_ = 0;                          // that all ranks know of, as MPI_Init has returned
  const char* why_not_ = "";                     // where nothing can be logged
  uint64_t start_realtime_ns_ = 0, start_ns_ = 0;
  FileList files_;
  Mutex sums_mutex_;
  StraightSums straight_ PMIO_GUARDED_BY(sums_mutex_);
  FileNumbers straight_numbers_ PMIO_GUARDED_BY(sums_mutex_);
  std::vector<const Handle*> straight_open_ PMIO_GUARDED_BY(sums_mutex_);
  std::unique_ptr<History> history_;  // if statistics are kept
  RunFacts facts_{};                  // since the job was joined, or statistics are kept
  uint64_t id_ = 0;
  int rank_ = 0, ranks_ = 1;
  int ranks_here_ = 1;                      // on this node
  NodePlace place_;                         // of this node, where there are several
  MPI_Comm comm_{};                         // of all ranks, where there are several
  std::unique_ptr<Claims> claims_;          // uses the job
  std::unique_ptr<Rendezvous> rendezvous_;  // of this node; null on all its ranks where it is on one
  std::atomic<Job*> joined_{nullptr};       // job_
  Mutex join_mutex_;                        // held while the nodes find each other
  bool nodes_joined_ PMIO_GUARDED_BY(join_mutex_) = false;
  Mutex mutex_;
  std::unique_ptr<Job> job_ PMIO_GUARDED_BY(mutex_);
  Group all_ PMIO_GUARDED_BY(mutex_);
  // Of the other groups that this rank is in, by their ranks in MPI_COMM_WORLD, ascending.
  Groups groups_ PMIO_GUARDED_BY(mutex_);
  Status join_error_ PMIO_GUARDED_BY(mutex_);
  Hints hints_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
