// The order in which the ranks of a node go through the windows of a call. They all find the same.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "twophase/domains.h"
#include "twophase/places.h"
#include "twophase/summary.h"

namespace pmio {

// Round by round: each aggregator's first window, then each one's second, and so on. Within a round: the
// windows of this node's aggregators, then those of the next node up, and so on around. Windows of other
// nodes' aggregators are left out if this node's summary does not meet them.
//
// Why that order does not end in a deadlock: of all messages that are not received yet, take the one of the
// lowest round, then of the least distance from sender to receiver. All that comes before it, on the sending
// and on the receiving node, is done (docs/decisions/0028-two-phase.md).
class Schedule {
 public:
  struct Step {
    uint32_t aggregator;  // its number
    Interval window;
  };
  Schedule(const Places& places, const std::vector<uint32_t>& aggregators, const Domains& domains,
           const NodeSummary& own);

  std::optional<Step> next();

 private:
  struct Lane {
    uint32_t aggregator;
    bool local;
    Domains::Walk walk;
  };
  const NodeSummary* own_;
  std::vector<Lane> lanes_;
  size_t at_ = 0, kept_ = 0;  // lanes [0, kept_) are those of this round that may have a next one
};

}  // namespace pmio
