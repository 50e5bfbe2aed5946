// Whatever changes a logged file's target but a drain: what others have written, and the calls of a program
// that make it longer, cut it, or delete it. What the logs serve and know of the file follows.
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
  // What is in the target is on its storage.
  Status sync();

 private:
  FileParts& parts_;
};

}  // namespace pmio
