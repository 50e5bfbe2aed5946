// One file as the processes of a node see it: appending to this rank's log, reading through all local logs,
// draining.
//
// What a rank appended is visible to every local rank as soon as append has returned. All calls are local;
// none communicates but through shared memory. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "drain/target.h"
#include "extent/pattern.h"
#include "log/call_stamp.h"
#include "log/segment.h"
#include "node/job.h"
#include "node/neighbours.h"

namespace pmio {

class File {
 public:
  ~File();

  // Appends the next `bytes` of the memory cursor's stream to the log, as the next `bytes` of the file
  // cursor's stream. On return: acknowledged (in the log, as durable as the medium allows after one fence)
  // and visible. Waits, draining itself, while the log is full. Errors: no_space, quota, io...: the drain
  // cannot make room; what this call had appended so far stays.
  Status append(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                CallNumber call);
  // The hot path: contiguous both in memory and in the file.
  Status append(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call);
  // A collective write call to which this rank gave no byte: recovery will know that it was made. One fence;
  // waits for nobody. Where no segment is free for it, only the control block tells.
  void note_empty_call(CallNumber call);

  // Before the first call on a handle: its number among the opens of the job, the size of its communicator
  // and the place in it. Returns CallNumber::open for its calls; 0 while too many are open at once, and then
  // recovery knows less of them.
  uint32_t add_open(uint64_t number, uint32_t ranks, uint32_t rank);
  // When all ranks of the handle are in its close.
  void remove_open(uint32_t open);

  // Reads up to bytes of the file cursor's stream into the memory cursor's; *got is short only at the end of
  // the file.
  Status read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes, uint64_t* got,
              bool collective = false);
  Status read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective = false);

  // Of a file whose ranks are on several nodes only:
  // What all ranks have agreed on when they have opened it.
  struct Agreed {
    uint64_t number;  // the file's among the nodes: what some rank has from an earlier open; else a new one
    // The highest that any of them knows of.
    uint64_t last_call;
    CallStamp cut, finished_cut;
    uint64_t size;
  };
  // An error: nothing may be logged.
  Status join_nodes(const Agreed& all);
  bool spans_nodes() const;
  // How many writes past the log this node has synced: Unsynced::synced.
  uint64_t writes_synced() const;
  // Whether this process has it open by more than one handle.
  bool has_other_handles() const;
  // Whether more than so many of the node's processes use the file.
  bool has_more_users(int processes) const;
  // The last collective write call that this rank knows of.
  uint64_t last_call() const;
  // Of the last round that was begun on this node; 0: none.
  CallStamp cut() const;
  // Of the last round that was finished on this node, as its ledger says; 0: none.
  CallStamp finished_cut() const;
  // Around each collective write call, also where this rank fails: its number is the stamp of its records.
  // Another thread's call waits for the end of this one. may_wait: by its definition it may wait for all
  // ranks to begin it, so that no rank learns of what comes behind it before it has begun it too.
  void begin_call(bool may_wait = true);
  void end_call();
  // An independent write: logged as by append, after the other nodes have been asked where that is not known
  // to be needless; or straight to the file, where they want the same windows or the log has no room. On
  // return it is seen by all, and as durable as what is logged.
  Status write_independent(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                           uint64_t bytes, CallNumber call);

  // What the other nodes ask of this one; each from one of its processes.
  // The number given to join_nodes; 0: none yet. A file whose close has failed keeps it.
  uint64_t number() const;
  // Collective write calls that all local ranks have finished, and that some have begun.
  uint64_t calls_finished_here() const;
  uint64_t calls_begun_here() const;
  uint64_t clock() const;  // of the latest independent write that this node knows of
  // Neighbours::ask, for this node.
  Status answer(CallStamp upto, std::span<const Vector> ranges, Neighbours::Purpose purpose, bool* undrained);
  // Neighbours::survey, for this node; *held: nothing of use where it is not complete.
  Status survey(uint64_t calls, const Interval& bytes, std::vector<Vector>* held, bool* complete);
  bool all_drained_here() const;
  void forget_here();
  // Some local rank is gone without having closed the file: nobody can tell how far it would have come.
  bool some_rank_died() const;
  // A drain failed with this errno: every local rank will report it.
  void fail(int error);
  Status discard_here();

  // What this rank has appended is as durable on return as sync would make it: in the log, or in the target
  // and synced where the log's medium outlives the node. Nothing is drained for it.
  Status persist();
  // Everything that any local rank had published when this was called is in the target on return (not yet
  // synced).
  Status drain();
  // The same of all nodes, up to where this rank has come, and what they have written past their logs is
  // synced. will_write: this rank is about to write past its own.
  Status drain_all_nodes(bool will_write);
  // drain, or drain_all_nodes, and the target synced to its storage.
  Status sync();
  // What is in the target is on its storage.
  Status sync_target();
  // After a drain, of a file of one node: no byte that was drained is served from the log any more, nor an
  // end of the file that somebody has cut off.
  void see_what_others_did();
  // Size of the file: the target's or the end of the last logged byte, whichever is larger.
  Result<uint64_t> size_bytes();
  // As far as this node knows.
  Result<uint64_t> size_bytes_here() const;

  // True if any local rank has logged anything, or is about to, since the file was opened by the first of
  // them.
  bool ever_logged() const;
  // Somebody wrote the target behind the log's back (a call handed on, from all ranks): drop cached, already
  // drained bytes.
  void invalidate_cache();
  // The same, from this rank alone: the other nodes are told, and the file's size is not known any more.
  void forget_cache();
  // From all ranks, none of which is writing: the size is this.
  void set_known_size(uint64_t bytes);
  // From one rank, after a drain: room for the file's first bytes, none of which is changed, as long as
  // nobody writes beyond known_end (TargetFile::grow); where the file system cannot make it, the file is made
  // as long. Seen by the other nodes on return.
  Status make_room(uint64_t bytes, uint64_t known_end);
  // Whether independent writes have just used up the last stamp, on this node: all later ones go to the file.
  // True once, on one rank.
  bool has_used_up_stamps();
  // The target has been cut, after a drain: the end of the file is the target's, or that of what is still to
  // be drained, of calls that came in between. From all ranks.
  void truncated_here();
  // The same, from some ranks only: the other nodes are told.
  void truncated();
  // Deleted: nothing logged so far will be drained or replayed. Durable on return.
  Status discard();
  // Of a file of several nodes, between the drains of the last close and the first release: how it is left
  // (node/resting.cpp). Put together by the maximum of each number over all ranks, of which one decides;
  // where that has set rests it is for release.
  struct Settled {
    uint64_t known = 0, uncertain = 0;      // stamps of records that others know of, and may have changed
    uint64_t rests = 0, set_back = 0;       // by who decides: it may rest; its times have been set back
    uint64_t size_bytes = 0, mtime_ns = 0;  // by who decides
  };
  Settled settle(bool decides);
  // Before the last close on this rank: gives this rank's segments back, or lets the file rest where settled
  // is given. All ranks that share the handle have drained. Where a drain error is pending the segments stay,
  // and the error is returned as kept_in_log.
  Status release(const std::optional<Settled>& settled = {});
  // Whether the file rested since its last close, on this rank.
  bool has_rested() const;
  // The error of a drain, with the log's place in its message and what to do.
  Status kept_in_log(const Status& status) const;

  // The first drain error not yet reported by this process; ok if none. Reported once per process.
  Status take_error();
  void forgive_errors();  // those so far have been reported

  struct DrainTimes {
    uint64_t idle_ns;   // nobody has appended for so long
    uint64_t retry_ns;  // not before so long after a failure
    uint64_t age_ns;    // something has been in the log for so long; 0: that is no reason
  };
  // Drains if the log fills (`filling`), or one of these times is over. Called by the background thread only.
  void background_drain(bool filling, const DrainTimes& times);
  // No more calls and bytes than that, of this process, written or read, since it has the file open.
  // collective: and all that write are.
  bool has_few_calls(uint64_t calls, uint64_t bytes, bool collective) const;
  // Whether one of this rank's segments was taken for a call without data, and holds none yet. Any thread.
  bool has_table_only() const;

  TargetFile& target();
  Counters& counters();  // the process's
  const FileIdentity& identity() const;
  const Layout& layout() const;

 private:
  friend class Ending;
  friend class Job;
  friend class LostLog;
  friend class NodeRound;
  struct Impl;
  File();
  std::unique_ptr<Impl> impl_;
};

}  // namespace pmio
