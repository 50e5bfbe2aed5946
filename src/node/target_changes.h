// Whatever changes a logged file's target but a drain. That is what others have written, and the calls of a
// program that make it longer, truncate it, or delete it. What the logs serve and know of the file follows.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace pmio {

struct FileParts;

class TargetChanges {
 public:
  explicit TargetChanges(FileParts& parts) : parts_(parts) {}

  // Somebody wrote the target behind the log's back: drop cached, already drained bytes. `invalidate`: by a
  // call handed on, from all ranks. `forget`: from this rank alone: the other nodes are told, and the file's
  // size is not known any more; `forget_here`: but for these.
  void invalidate_cache();
  void forget_cache();
  void forget_here();
  // From all ranks, none of which is writing: the size is this.
  void set_known_size(uint64_t bytes);
  // From one rank, after a drain: room for the file's first bytes. None of them is changed, as long as nobody
  // writes beyond known_end (TargetFile::grow). If the file system cannot make room, the file is made as
  // long. Seen by the other nodes on return.
  Status make_room(uint64_t bytes, uint64_t known_end);
  // The target has been truncated, after a drain. The end of the file is the target's, or the end of what
  // calls in between have logged and is still to be drained. `here`: from all ranks. Else the other nodes are
  // told.
  void truncated_here();
  void truncated();
  // Deleted: nothing logged so far will be drained or replayed. Durable on return.
  Status discard();
  // What is in the target is on its storage.
  Status sync();

 private:
  FileParts& parts_;
};

}  // namespace pmio
