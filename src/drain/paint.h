// Newest wins, by painting. The bytes of a window of the file are put together from the entries that cross
// the window, oldest first. So later ones overwrite. The drain, reads and recovery use it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drain/bitmap.h"
#include "drain/run.h"
#include "extent/pattern.h"

namespace pmio {

// Where an entry's bytes are: its file range, and its contiguous data in stream order. Implementations map
// segments. `locate` returns false if the entry's segment is gone; the bytes are in the file then. The range
// must be the one that the entry was made from. If it has more than one block, its stride is at least
// block_length.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  struct Located {
    Vector range;
    const std::byte* data;
  };
  virtual bool locate(const Entry& entry, Located* located) = 0;
};

// Paints. It keeps scratch memory between calls, so that painting does not allocate. Threads: one.
class Painter {
 public:
  // Paints [a, b) into out, from entries in any order. out[0] is file byte a, and b - a <= kWindowBytes.
  // Entries that do not intersect [a, b) are ignored. covered receives the sorted, disjoint, maximal
  // intervals that were painted; bytes of out outside them stay as they were. Entries that do not overlap
  // each other are painted without a sort by stamp. False: some entry could not be located, or the log no
  // longer has what the entry says; out is undefined then.
  bool paint(std::span<const Entry> entries, EntrySource& source, uint64_t a, uint64_t b, std::byte* out,
             std::vector<Interval>* covered);

 private:
  bool paint_extents(std::span<const Entry> extents, EntrySource& source, const Interval& window,
                     std::byte* out, std::vector<Interval>* covered);
  bool paint_cluster(std::span<Entry> cluster, EntrySource& source, const Interval& window, std::byte* out,
                     std::vector<Interval>* covered);
  void cover_cluster(const Interval& range, uint64_t a, std::vector<Interval>* covered);

  std::vector<Entry> order_, scratch_;
  std::vector<EntrySource::Located> pieces_;  // of the entries that are being painted
  Bitmap bitmap_;                             // used only if overlapping vectors need it
};

}  // namespace pmio
