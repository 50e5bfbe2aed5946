// What a file whose ranks are on several nodes asks of the others. Implemented by src/cluster; a file whose
// ranks share one node has none.
//
// Files are named by a number that all ranks of an open have agreed on. `calls`: collective write calls on
// the file that the asking rank has finished. What a rank may have learnt of was written in one of these, or
// independently by a rank that had finished no more. Collective calls may wait for all ranks, so no correct
// program is told of anything later. Threads: any. All may fail with io where a node is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "drain/interval.h"
#include "extent/pattern.h"
#include "log/call_stamp.h"
#include "log/nodes_note.h"
#include "node/remote_syncs.h"

namespace pmio {

class Neighbours {
 public:
  virtual ~Neighbours() = default;

  virtual const NodePlace& place() const = 0;

  using Synced = RemoteSyncs::Count;
  struct Answer {
    bool undrained = false;  // some other node holds bytes of the ranges, with stamps up to `upto`, that are
                             // not in the file yet; of Purpose::log and call nothing is said
    uint64_t end = 0;        // of the file, as far as the nodes know
    uint64_t clock = 0;      // no earlier than that of any independent write logged on the other nodes so far
    // The collective write calls on the file that all ranks of the other nodes have finished, none of them
    // having begun one more; or nothing. Of Purpose::log alone.
    std::optional<uint64_t> settled;
    std::vector<Synced> synced;
  };
  // What is to be done with the ranges. write: past the log, and nobody serves cached bytes of them any more.
  // log: independently. After both no other node relies on what it knew of them, or logs anything there
  // independently, before it has asked itself. call: a collective write call begins. Afterwards no other node
  // logs anything independently before it has asked itself.
  enum class Purpose : uint64_t { read, write, log, call };
  // No communication but this.
  virtual Result<Answer> ask(uint64_t file, CallStamp upto, std::span<const Vector> ranges,
                             Purpose purpose) = 0;
  // What the other nodes hold of the bytes, undrained, of calls up to `calls`. Complete: with nothing to
  // come, since all their ranks have finished these calls.
  struct Held {
    bool complete = false;
    std::vector<std::vector<Vector>> held;  // of each node, one behind the other (well_ordered)
    uint64_t end = 0;                       // of the file
    std::vector<Synced> synced;
  };
  virtual Result<Held> holdings(uint64_t file, uint64_t calls, const Interval& bytes) = 0;
  // On return a round of all nodes that began after this call has brought everything into the file that was
  // published in collective calls up to `calls`; `all`: and independently by ranks that had finished no more
  // than these. Waits for ranks that have not finished the last of these calls; without `all`, where some
  // rank has begun it, for those that have not finished the one before. 0: for none.
  virtual Status drain(uint64_t file, uint64_t calls, bool all) = 0;
  // No node serves drained bytes of the file from its log any more, or knows its size.
  virtual Status forget(uint64_t file) = 0;
  // The file is truncated: if all is drained, no node takes what it has logged for the file's end any more.
  virtual Status truncated(uint64_t file) = 0;
  // Nothing that any node has logged so far will be drained or replayed.
  virtual Status discard(uint64_t file) = 0;
};

}  // namespace pmio
