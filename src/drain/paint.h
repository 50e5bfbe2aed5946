// Newest wins, by painting: the bytes of a window of the file are put together from the entries that cross it, oldest
// first, so that later ones overwrite. Used by the drain, by reads and by recovery.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drain/run.h"
#include "extent/pattern.h"

namespace pmio {

// Where an entry's bytes are: resolves it to its file range and its contiguous data (stream order). Implementations map
// segments; returns false where the entry's segment is gone (the bytes are then in the file).
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  struct Located {
    Vector range;
    const std::byte* data;
  };
  virtual bool locate(const Entry& entry, Located* located) = 0;
};

struct Interval {
  uint64_t begin, end;  // file bytes [begin, end)
};

// Scratch memory of one thread, reused between calls so that painting does not allocate.
class Painter {
 public:
  // Paints [a, b) into out (out[0] is file byte a; b - a <= kWindowBytes) from entries, in any order; those that do
  // not intersect are ignored. covered receives the sorted, disjoint, maximal intervals that were painted; bytes of out
  // outside them are left as they were. Entries that do not overlap each other are painted without a sort by stamp.
  // false: some entry could not be located (out is then undefined).
  bool paint(std::span<const Entry> entries, EntrySource& source, uint64_t a, uint64_t b, std::byte* out,
             std::vector<Interval>* covered);

 private:
  std::vector<Entry> order_;
  std::vector<uint64_t> bitmap_;  // one bit per byte of the window, only where vectors or overlaps need it
};

}  // namespace pmio
