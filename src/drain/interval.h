// Ranges of file bytes, and lists of them: sorted, disjoint, maximal (no two of a list touch).
#pragma once

#include <cstdint>
#include <vector>

namespace pmio {

struct Interval {
  uint64_t begin, end;  // file bytes [begin, end)
  uint64_t bytes() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

// Appends [begin, end) to a list that ends at or before begin.
inline void append_interval(std::vector<Interval>* list, uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (!list->empty() && list->back().end == begin)
    list->back().end = end;
  else
    list->push_back({begin, end});
}

}  // namespace pmio
