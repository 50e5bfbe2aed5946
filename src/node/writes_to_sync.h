// What the ranks of this node have written past the log, into a file that ranks on other nodes have open too.
// And what of it another node's client of the file system may not see yet. It is synced when another node
// asks for it (decision 0011), rather than after every write.
//
// In memory that the processes of the node share; zeroed memory and init make one. Threads, processes: any.
// Bounded: whoever fills it up syncs.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/robust_lock.h"
#include "drain/interval.h"
#include "drain/target.h"
#include "extent/pattern.h"

namespace pmio {

class WritesToSync {
 public:
  static constexpr uint32_t kMostRanges = 1024;

  void init();

  // Around a write of the ranges, before it asks the other nodes. Whoever finds no write going on, and then
  // no range, knows this: no write that was begun before has left anything unsynced.
  void begin_write() { writing_.fetch_add(1, std::memory_order_seq_cst); }
  // Whether it has succeeded or not. Syncs where there is no room.
  Status end_write(std::span<const Vector> ranges, TargetFile& target);
  bool writing() const { return writing_.load(std::memory_order_seq_cst) != 0; }

  // 0: none. Else a number that grows with each range that is synced, and from one that was made earlier to
  // one made later. The other nodes may outlive it.
  uint64_t synced() const {
    const uint64_t first = first_.load(std::memory_order_seq_cst);
    return first == made_ns_ ? 0 : first;
  }
  // Whether bytes of the ranges may be unsynced. May say yes where they are not.
  bool holds(std::span<const Vector> ranges);
  // All that was written before is with the file system's servers on return. Where that has failed once it
  // fails for ever: nobody knows what the file system has lost.
  Status sync(TargetFile& target);
  // Somebody else's sync of the file has failed on this node: what is unsynced may be lost with it.
  void note_loss(const Status& status);

 private:
  bool add(std::span<const Vector> ranges);
  void fail(const Status& status);

  RobustMutex mutex_;  // robust; guards what follows, but for reads of the atomic ones
  std::atomic<uint32_t> writing_;
  std::atomic<uint32_t> count_;
  std::atomic<int32_t> error_;
  uint64_t made_ns_;             // monotonic time: more than ranges that were written before
  std::atomic<uint64_t> first_;  // that, and how many ranges there were before those that are here
  Vector ranges_[kMostRanges];
};

}  // namespace pmio
