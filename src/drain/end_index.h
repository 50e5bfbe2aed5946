// Tells which of the entries, sorted by offset, reach beyond a byte, without a look at each entry. It has the
// highest `end` of every kFanout entries, of every kFanout of those, and so on up to a level of at most
// kFanout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "drain/run.h"

namespace pmio {

class EndIndex {
 public:
  static constexpr size_t kFanout = 16;

  // How many numbers of 8 bytes the index of n entries takes.
  static size_t words(size_t n);
  static void build(const Entry* entries, size_t n, uint64_t* words);

  EndIndex(const Entry* entries, size_t n, const uint64_t* words) : entries_(entries), n_(n), words_(words) {}

  // Where the kFanout entries begin that contain first_beyond, and at most n. It looks at no entry.
  size_t near_beyond(uint64_t a) const {
    return n_ == 0 ? 0 : std::min(n_, kFanout * first_of_level(a, words_, level_above(n_)));
  }

  // The first entry whose end lies beyond a; n: there is none. It looks at kFanout numbers of each level.
  size_t first_beyond(uint64_t a) const {
    size_t at = near_beyond(a);
    while (at < n_ && entries_[at].end <= a) ++at;
    return std::min(at, n_);
  }

  // Calls take(const Entry&) for those of the first `limit` entries whose end lies beyond a, until `take`
  // returns false.
  template <class Take>
  void beyond(uint64_t a, size_t limit, Take take) const {
    const size_t whole = limit - limit % kFanout;
    for (size_t i = whole; i < limit; ++i)
      if (entries_[i].end > a && !take(entries_[i])) return;
    if (whole > 0) climb(a, whole / kFanout, words_, level_above(n_), 1, take);
  }

 private:
  static size_t level_above(size_t count) { return (count + kFanout - 1) / kFanout; }
  static size_t first_of_level(uint64_t a, const uint64_t* level, size_t count) {
    size_t at = count > kFanout ? kFanout * first_of_level(a, level + count, level_above(count)) : 0;
    while (at < count && level[at] <= a) ++at;
    return at;
  }
  // Looks at the first `limit` numbers of a level that has `count`; each stands for kFanout^depth entries.
  template <class Take>
  bool climb(uint64_t a, size_t limit, const uint64_t* level, size_t count, unsigned depth,
             Take& take) const {
    const bool top = count <= kFanout;
    const size_t first = top ? 0 : limit - limit % kFanout;
    for (size_t i = first; i < limit; ++i)
      if (level[i] > a && !descend(a, i, level, depth, take)) return false;
    if (first == 0) return true;
    return climb(a, first / kFanout, level + count, level_above(count), depth + 1, take);
  }
  template <class Take>
  bool descend(uint64_t a, size_t i, const uint64_t* level, unsigned depth, Take& take) const {
    const size_t begin = i * kFanout;
    if (depth == 1) {
      for (size_t e = begin; e < begin + kFanout && e < n_; ++e)
        if (entries_[e].end > a && !take(entries_[e])) return false;
      return true;
    }
    const size_t below_count = count_at(depth - 1);
    const uint64_t* below = level - below_count;
    for (size_t b = begin; b < begin + kFanout && b < below_count; ++b)
      if (below[b] > a && !descend(a, b, below, depth - 1, take)) return false;
    return true;
  }
  size_t count_at(unsigned depth) const {
    size_t count = n_;
    for (unsigned d = 0; d < depth; ++d) count = level_above(count);
    return count;
  }

  const Entry* entries_;
  size_t n_;
  const uint64_t* words_;
};

}  // namespace pmio
