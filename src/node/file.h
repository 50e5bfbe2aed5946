// One file as the processes of a node see it: appending to this rank's log, reading through all local logs,
// draining.
//
// What a rank appended is visible to every local rank as soon as append has returned. Calls are local, and
// communicate through shared memory only, but for a file whose ranks are on several nodes (span/spanning.h).
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "drain/target.h"
#include "extent/pattern.h"
#include "log/segment.h"
#include "node/job.h"
#include "node/reach.h"

namespace pmio {

class File {
 public:
  // A File for an opened target. The first process of the job to come makes what they share.
  static Result<std::shared_ptr<File>> attach(Job::Impl& job, const std::string& key,
                                              const FileIdentity& identity,
                                              std::unique_ptr<TargetFile> target,
                                              const Job::OpenOptions& how);
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
  // waits for nobody. If no segment is free for it, only the control block tells.
  void note_empty_call(CallNumber call);
  // What this rank has appended is as durable on return as sync would make it: in the log, or in the target
  // and synced if the log's medium outlives the node. Nothing is drained for it.
  Status persist();

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
  // Size of the file: the target's or the end of the last logged byte, whichever is larger.
  Result<uint64_t> size_bytes();
  // As far as this node knows.
  Result<uint64_t> size_bytes_here() const;

  // What the scope says is in the target on return, and not yet synced.
  Status drain(DrainScope scope = DrainScope::published);
  // What this rank has written straight to the target is with its file system, which may tell of an error
  // only now (TargetFile::flush).
  Status flush();
  // Drains everywhere, and syncs the target to its storage.
  Status sync();
  // What is in the target is on its storage.
  Status sync_target();
  // Called by the background thread only: drains if the log fills (`filling`), or one of these times is over.
  struct DrainTimes {
    uint64_t idle_ns;   // nobody has appended for so long
    uint64_t retry_ns;  // not before so long after a failure
    uint64_t age_ns;    // something has been in the log for so long; 0: that is no reason
  };
  void background_drain(bool filling, const DrainTimes& times);

  // True if any local rank has logged anything, or is about to, since the file was opened by the first of
  // them.
  bool ever_logged() const;
  // Somebody wrote the target behind the log's back: drop cached, already drained bytes. `invalidate`: by a
  // call handed on, from all ranks. `forget`: from this rank alone: the other nodes are told, and the file's
  // size is not known any more; `forget_here`: but for these.
  void invalidate_cache();
  void forget_cache();
  void forget_here();
  // From all ranks, none of which is writing: the size is this.
  void set_known_size(uint64_t bytes);
  // From one rank, after a drain: room for the file's first bytes, none of which is changed, as long as
  // nobody writes beyond known_end (TargetFile::grow); if the file system cannot make it, the file is made as
  // long. Seen by the other nodes on return.
  Status make_room(uint64_t bytes, uint64_t known_end);
  // The target has been cut, after a drain: the end of the file is the target's, or that of what is still to
  // be drained, of calls that came in between. `here`: from all ranks. Else the other nodes are told.
  void truncated_here();
  void truncated();
  // Deleted: nothing logged so far will be drained or replayed. Durable on return.
  Status discard();

  // Before the last close on this rank: gives this rank's segments back, or lets the file rest if resting is
  // given. All ranks that share the handle have drained. After a drain error the segments stay, and the error
  // is returned as kept_in_log.
  Status release(const std::optional<RestingState>& resting = {});
  // In the place of a drain before release: the file may be complete later than its close. All that share the
  // handle have published. On return what this rank has logged is as durable as the log allows, and the job's
  // ranks of this node know that it lags. False: the close has to drain it, as something has failed, or too
  // many files lag already.
  bool begin_lag();
  // release, when all ranks that share the handle have begun to lag.
  void release_later();
  // Whether some rank of the node has closed it, and it may not be complete.
  bool lags() const;
  // Before it is opened again: it is complete on return, and what others have written since is seen.
  Status complete();
  // Whether nobody of the job can have it open on this node.
  bool is_closed() const;
  // The same, and it has no name any more.
  bool is_gone() const;
  // The error of a drain after the close, with the log's place in its message.
  Status lags_on(const Status& status) const;
  // The error of a drain, with the log's place in its message and what to do.
  Status kept_in_log(const Status& status) const;
  // The first drain error not yet reported by this process; ok if none. Reported once per process.
  Status take_error();
  void forgive_errors();  // those so far have been reported
  void fail(int error);   // a drain has failed with this errno: every local rank will report it

  bool spans_nodes() const;
  // Whether this process has it open by more than one handle, or more than so many processes of the node use
  // it.
  bool has_other_handles() const;
  bool has_more_users(int processes) const;
  // No more calls and bytes than that, of this process, written or read, since it has the file open.
  // collective: and all that write are.
  bool has_few_calls(uint64_t calls, uint64_t bytes, bool collective) const;

  TargetFile& target();
  Counters& counters();  // the process's
  const FileIdentity& identity() const;
  const Layout& layout() const;
  Reach& reach();
  FileParts& parts() const;  // for the layers node and span

 private:
  File();
  std::unique_ptr<FileParts> parts_;
};

}  // namespace pmio
