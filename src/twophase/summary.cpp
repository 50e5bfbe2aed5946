#include "twophase/summary.h"

#include <algorithm>

namespace pmio {
namespace {

// Joins those next to each other until there are not more than that.
void reduce(std::vector<Interval>* list, size_t most) {
  if (list->size() <= most) return;
  std::vector<uint64_t> gaps;
  for (size_t i = 1; i < list->size(); ++i) gaps.push_back((*list)[i].begin - (*list)[i - 1].end);
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<ptrdiff_t>(most) - 1, gaps.end(),
                   std::greater<>());
  // The most - 1 widest gaps stay, fewer if there are others as wide as the last of them.
  const uint64_t joined = gaps[most - 1];
  std::vector<Interval> fewer;
  for (const Interval& interval : *list) {
    if (!fewer.empty() && interval.begin - fewer.back().end <= joined)
      fewer.back().end = interval.end;
    else
      fewer.push_back(interval);
  }
  list->swap(fewer);
}

}  // namespace

NodeSummary summary_of(std::span<const RankSummary> ranks) {
  NodeSummary node;
  std::vector<Interval> ranges;
  for (const RankSummary& rank : ranks) {
    if (rank.bytes == 0) continue;
    ranges.push_back(rank.range);
    node.bytes += rank.bytes;
    node.pieces += rank.pieces;
    node.ranged_bytes += rank.range.bytes();
    node.asked_bytes += rank.asked_bytes;
  }
  ranges = united(std::move(ranges));
  reduce(&ranges, NodeSummary::kMostRanges);
  node.count = ranges.size();
  std::copy(ranges.begin(), ranges.end(), node.ranges);
  return node;
}

std::vector<Interval> accessed(std::span<const NodeSummary> nodes) {
  std::vector<Interval> ranges;
  for (const NodeSummary& node : nodes) ranges.insert(ranges.end(), node.ranges, node.ranges + node.count);
  return united(std::move(ranges));
}

}  // namespace pmio
