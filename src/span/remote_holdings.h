// What the other nodes hold undrained of a file, some windows at a time. So reading many small pieces costs a
// question per window instead of one per piece. It costs less if windows are read one after the other.
//
// Invariant: what is kept was true of collective write calls up to calls_, when all ranks had finished these.
// Nothing of such calls is logged any more, so it can only become less. If no piece is known, there is none.
// And what the others had written past their logs was synced. Whoever drains or changes the file's size
// clears it. So does another node's question before it writes past its log or logs an independent write.
// Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "drain/interval.h"
#include "node/remote_syncs.h"
#include "span/neighbours.h"

namespace pmio {

class RemoteHoldings {
 public:
  // Whether the other nodes certainly hold nothing of the ranges. Asks them, where it was asked the same
  // before, and answers false where that does not tell. *end: of the file, as far as the nodes knew.
  // changes: foreign_writes and foreign_leases as FileControl has them by now; another value than before, and
  // all is asked anew. What the others say that they have synced goes to synced.
  Result<bool> clear_of(Neighbours& neighbours, uint64_t file, uint64_t calls, uint64_t changes,
                        std::span<const Vector> ranges, RemoteSyncs* synced, uint64_t* end);

 private:
  struct Asked {
    uint64_t end = 0;  // the window behind the last one
    std::vector<std::vector<Vector>> held;
  };
  static constexpr uint64_t kMostAhead = 16;
  static constexpr uint64_t kNone = UINT64_MAX;
  using AskedMap = std::map<uint64_t, Asked>;  // by the first window
  Result<AskedMap::iterator> find(Neighbours& neighbours, uint64_t file, uint64_t window, RemoteSyncs* synced)
      PMIO_REQUIRES(mutex_);
  void clear() PMIO_REQUIRES(mutex_);

  Mutex mutex_;
  uint64_t calls_ PMIO_GUARDED_BY(mutex_) = 0;
  uint64_t changes_ PMIO_GUARDED_BY(mutex_) = 0;
  uint64_t end_ PMIO_GUARDED_BY(mutex_) = 0;
  uint32_t wait_ PMIO_GUARDED_BY(mutex_) = 0;  // how many questions more are answered without asking
  uint64_t most_ahead_ PMIO_GUARDED_BY(mutex_) = kMostAhead;  // windows of a question
  AskedMap asked_ PMIO_GUARDED_BY(mutex_);
  uint64_t kept_ PMIO_GUARDED_BY(mutex_) = 0;  // vectors in it
  // The window behind the last question, and how many that was of.
  uint64_t next_ PMIO_GUARDED_BY(mutex_) = kNone, ahead_ PMIO_GUARDED_BY(mutex_) = 1;
};

// What a node has told others last: all their ranks ask the same. Threads: one at a time.
class ToldHoldings {
 public:
  // What the answers depend on, beside the question: another value, and all are forgotten.
  struct State {
    uint64_t appended = 0, drained = 0;  // records, by all ranks of the node
    bool operator==(const State&) const = default;
  };
  const std::vector<Vector>* find(const State& state, uint64_t calls, const Interval& bytes);
  void add(uint64_t calls, const Interval& bytes, const std::vector<Vector>& held);

 private:
  struct Told {
    uint64_t calls;
    Interval bytes;
    std::vector<Vector> held;
  };
  State state_;
  std::deque<Told> told_;
};

}  // namespace pmio
