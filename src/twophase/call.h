// What all calls do before and after their bytes move.
#pragma once

#include <vector>

#include "twophase/parts.h"
#include "twophase/stream.h"

namespace pmio {

struct CallPlan {
  Status status;                   // an error: the other nodes cannot be reached
  const NodeSummary* nodes;        // until the end of the next call
  std::vector<Interval> accessed;  // by any rank
  uint64_t bytes = 0;              // of all ranks
  bool exchange = false;           // else each rank accesses its own bytes
};

// Tells the other ranks where this rank's bytes lie, and learns the same of them. Waits for all.
CallPlan plan_call(TwoPhaseParts& parts, const Stream& stream, bool is_write);

// Waits until all ranks are so far, and brings together what they have found.
CallResult finish_call(TwoPhaseParts& parts, const CallResult& own);

// What a rank returns. own_error: of its own access to the file, if it has one.
Status status_for(TwoPhaseParts& parts, const Stream& stream, const CallResult& result,
                  const Status& own_error);

}  // namespace pmio
