// What a call is, as its ranks tell each other before it: where their bytes lie. A few numbers for each node,
// however many pieces there are.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "drain/interval.h"

namespace pmio {

// Of one rank. No bytes: all is 0.
struct RankSummary {
  Interval range{0, 0};
  uint64_t bytes = 0;
  uint64_t pieces = 0;       // about how many the bytes are in
  uint64_t asked_bytes = 0;  // of `bytes`: Buffering::asked
};

// Of a node.
struct NodeSummary {
  static constexpr size_t kMostRanges = 8;
  uint64_t count = 0;
  Interval ranges[kMostRanges] = {};  // sorted and disjoint; they hold all bytes of the node's ranks
  uint64_t bytes = 0, pieces = 0;
  uint64_t ranged_bytes = 0;  // the sum of the ranks' ranges
  uint64_t asked_bytes = 0;

  bool meets(const Interval& window) const {
    for (uint64_t i = 0; i < count; ++i)
      if (ranges[i].begin < window.end && ranges[i].end > window.begin) return true;
    return false;
  }
};
static_assert(std::is_trivially_copyable_v<NodeSummary>);

NodeSummary summary_of(std::span<const RankSummary> ranks);
// What any of the nodes accesses.
std::vector<Interval> accessed(std::span<const NodeSummary> nodes);

}  // namespace pmio
