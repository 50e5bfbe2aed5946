// Ranges of file bytes, and lists of them. A list is sorted, disjoint and maximal: no two of its intervals
// touch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace pmio {

struct Interval {
  uint64_t begin, end;  // file bytes [begin, end)
  uint64_t bytes() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

// Appends [begin, end) to a list that ends at begin or before.
inline void append_interval(std::vector<Interval>* list, uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  PMIO_ASSERT(list->empty() || list->back().end <= begin);
  if (!list->empty() && list->back().end == begin)
    list->back().end = end;
  else
    list->push_back({begin, end});
}

// The bytes that any of the intervals holds, as a list.
inline std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& x, const Interval& y) { return x.begin < y.begin; });
  std::vector<Interval> list;
  for (const Interval& interval : intervals) {
    if (!list.empty() && interval.begin <= list.back().end)
      list.back().end = std::max(list.back().end, interval.end);
    else
      list.push_back(interval);
  }
  return list;
}

}  // namespace pmio
