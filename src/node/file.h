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
#include "node/closing.h"
#include "node/drain_errors.h"
#include "node/file_opens.h"
#include "node/file_usage.h"
#include "node/job.h"
#include "node/reach.h"
#include "node/target_changes.h"

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
  // What this rank has appended is as durable on return as sync would make it. It is in the log, or in the
  // target and synced if the log's medium outlives the node. Nothing is drained for it.
  Status persist();

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
  // Of a file of this node's ranks: others open it, too (node/contest.h). On return what was written before
  // is in the file and synced.
  Status contest();
  // Which pieces go straight to the file from now on, unless another handle has decided that.
  void set_direct_from(const DirectFrom& from);

  TargetFile& target();
  const FileIdentity& identity() const;
  FileOpens opens();
  FileUsage usage() const;
  DrainErrors errors();
  TargetChanges& changes();
  Closing& closing() { return closing_; }
  Reach& reach();
  FileParts& parts() const;  // for the layers node and span

 private:
  File();
  std::unique_ptr<FileParts> parts_;
  Closing closing_;
};

}  // namespace pmio
