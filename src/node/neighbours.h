// What a file whose ranks are on several nodes asks of the others. Implemented by src/cluster; a file whose
// ranks share one node has none.
//
// Files are named by a number that all ranks of an open have agreed on. `calls`: collective write calls on
// the file that the asking rank has finished. What a rank may have learnt of was written in one of these:
// collective calls may wait for all ranks, so that no correct program is told of a later one. Threads: any.
// All may fail with io where a node is gone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "drain/interval.h"
#include "extent/pattern.h"
#include "log/nodes_note.h"

namespace pmio {

class Neighbours {
 public:
  virtual ~Neighbours() = default;

  virtual const NodePlace& place() const = 0;

  struct Answer {
    bool undrained = false;  // some other node holds bytes of the ranges that are not in the file yet
    uint64_t end = 0;        // of the file, as far as the nodes know
    uint64_t synced = 0;     // how many writes past their logs the other nodes have synced, ever
  };
  // No communication but this; will_write: this node's undrained bytes count too, and nobody serves cached
  // bytes of the ranges any more.
  virtual Result<Answer> ask(uint64_t file, uint64_t calls, std::span<const Vector> ranges,
                             bool will_write) = 0;
  // What the other nodes hold of the bytes, undrained, of calls up to `calls`. Complete: with nothing to
  // come, since all their ranks have finished these calls.
  struct Held {
    bool complete = false;
    std::vector<Interval> held;  // a list
    uint64_t end = 0;            // of the file
    uint64_t synced = 0;         // as Answer
  };
  virtual Result<Held> survey(uint64_t file, uint64_t calls, const Interval& bytes) = 0;
  // On return a round of all nodes that began after this call has brought everything into the file that was
  // published in collective calls up to `calls`. Waits for ranks that have not come so far; 0: for none.
  virtual Status drain(uint64_t file, uint64_t calls) = 0;
  // No node serves drained bytes of the file from its log any more, or knows its size.
  virtual Status forget(uint64_t file) = 0;
  // Nothing that any node has logged so far will be drained or replayed.
  virtual Status discard(uint64_t file) = 0;
};

}  // namespace pmio
