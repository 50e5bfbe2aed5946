// Newest wins, by painting: the bytes of a window of the file are put together from the entries that cross
// it, oldest first, so that later ones overwrite. Used by the drain, by reads and by recovery.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drain/bitmap.h"
#include "drain/run.h"
#include "extent/pattern.h"

namespace pmio {

// Where an entry's bytes are: resolves it to its file range and its contiguous data (stream order).
// Implementations map segments; returns false where the entry's segment is gone (the bytes are then in the
// file). The range must be the one that the entry was made from, with a stride of at least block_length where
// there is more than one block.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  struct Located {
    Vector range;
    const std::byte* data;
  };
  virtual bool locate(const Entry& entry, Located* located) = 0;
};

// Scratch memory of one thread, reused between calls so that painting does not allocate.
class Painter {
 public:
  // Paints [a, b) into out (out[0] is file byte a; b - a <= kWindowBytes) from entries, in any order; those
  // that do not intersect are ignored. covered receives the sorted, disjoint, maximal intervals that were
  // painted; bytes of out outside them are left as they were. Entries that do not overlap each other are
  // painted without a sort by stamp. false: some entry could not be located, or is no longer what the entry
  // says (out is then undefined).
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
  Bitmap bitmap_;  // one bit per byte of the window, only where overlapping vectors need it
};

}  // namespace pmio
