// The blocks of a vector that lie in a range of file bytes, found by arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

inline uint64_t block_begin(const Vector& v, uint64_t i) {
  return static_cast<uint64_t>(v.offset) + i * static_cast<uint64_t>(v.stride);
}
inline uint64_t block_end(const Vector& v, uint64_t i) { return block_begin(v, i) + v.block_length; }

struct BlockRange {
  uint64_t first, last;  // blocks [first, last)
};

// The blocks that intersect [range.begin, range.end).
BlockRange blocks_in(const Vector& v, const Interval& range);

// Calls take(begin, end, first, blocks) for the parts of v in range: runs of whole blocks, and clipped blocks
// as runs of one. `first` is the number of the run's first block, and begin and end are those of that block.
template <class Take>
void for_block_runs(const Vector& v, const Interval& range, Take take) {
  auto [i, last] = blocks_in(v, range);
  const auto clipped = [&](uint64_t block) {
    const uint64_t begin = block_begin(v, block), end = block_end(v, block);
    take(begin < range.begin ? range.begin : begin, end > range.end ? range.end : end, block, uint64_t{1});
  };
  if (i >= last) return;
  if (block_begin(v, i) < range.begin) clipped(i++);
  const bool clips_last = i < last && block_end(v, last - 1) > range.end;
  if (const uint64_t whole_end = last - clips_last; i < whole_end)
    take(block_begin(v, i), block_end(v, i), i, whole_end - i);
  if (clips_last) clipped(last - 1);
}

// Whether the blocks of a and b interleave so that none of one meets one of the other, wherever both begin.
bool interleaved(const Vector& a, const Vector& b);
// Whether some byte is in both. It is exact, except that vectors of different strides and many blocks are
// taken to meet if their spans meet.
bool may_share_a_byte(const Vector& a, const Vector& b);

// Whether a list from outside may be believed: all are well-formed, and each lies behind the one before.
bool well_ordered(std::span<const Vector> list);

// The range from the first to the last byte of all ranges, of which there is at least one.
Vector span_of(std::span<const Vector> ranges);

// Copies the parts of v in range to out. out[0] is file byte a, and data are the vector's contiguous bytes.
void copy_blocks(const Vector& v, const std::byte* data, const Interval& range, uint64_t a, std::byte* out);

}  // namespace pmio
