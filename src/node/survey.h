// What the other nodes hold undrained of a file, a window at a time: so that reading many small pieces costs
// a question per window instead of one per piece.
//
// Invariant: what is kept was true of collective write calls up to calls_, when all ranks had finished these.
// Nothing of such calls is logged any more, so that it can only become less: where no piece is known, there
// is none; and what the others had written past their logs was synced. Whoever drains or changes the file's
// size clears it, and so does another node's question before it writes past its log or logs an independent
// write. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "drain/interval.h"
#include "node/neighbours.h"

namespace pmio {

class Survey {
 public:
  // Whether the other nodes certainly hold nothing of the ranges. Asks them, where it was asked the same
  // before, and answers false where that does not tell. *end: of the file, as far as the nodes knew.
  // changes: foreign_writes and foreign_leases as FileControl has them by now; another value than before, and
  // all is asked anew.
  Result<bool> clear_of(Neighbours& neighbours, uint64_t file, uint64_t calls, uint64_t changes,
                        std::span<const Vector> ranges, uint64_t* end);
  // Of the answers that it relies on, Neighbours::Answer::synced.
  uint64_t synced();

 private:
  Result<const std::vector<Interval>*> window(Neighbours& neighbours, uint64_t file, uint64_t number);

  std::mutex mutex_;
  uint64_t calls_ = 0;
  uint64_t changes_ = 0;
  uint64_t end_ = 0;
  uint64_t synced_ = 0;
  uint32_t wait_ = 0;  // how many questions more are answered without asking
  std::map<uint64_t, std::vector<Interval>> windows_;
};

}  // namespace pmio
