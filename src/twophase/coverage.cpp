#include "twophase/coverage.h"

#include <algorithm>
#include <cstring>

#include "drain/blocks.h"
#include "drain/tiling.h"

namespace pmio {
namespace {

// Beyond so many, bits are faster than sorting.
constexpr uint64_t kMostBlocks = 1024;

}  // namespace

void SharedBits::take(uint64_t end, uint64_t base, std::vector<Interval>* list) {
  extract_bits(words_, 0, end, base, list);
  std::memset(words_, 0, (end + 7) / 8);
}

void PieceList::begin(uint64_t step) {
  window = step + 1;
  count = in_bits = 0;
}

void PieceList::move_to_bits(const Interval& of_window, BitSetter& bits) {
  for (uint32_t i = 0; i < count; ++i) bits.set_piece(pieces[i], of_window.begin);
  count = 0;
  in_bits = 1;
}

// False: there are too many blocks.
bool Coverage::unite_by_blocks(std::span<const Vector> pieces, std::vector<Interval>* covered) {
  blocks_.clear();
  regular_.clear();
  for (const Vector& piece : pieces) {
    if (piece.count > 1)
      regular_.push_back(piece);
    else
      blocks_.push_back({static_cast<uint64_t>(piece.offset), static_cast<uint64_t>(piece.end())});
  }
  // Of columns without a hole between them all is known but some blocks at their ends.
  const Interval tiled = regular_.empty() ? Interval{0, 0} : tiled_range(regular_);
  if (tiled.begin < tiled.end) blocks_.push_back(tiled);
  uint64_t left = kMostBlocks;
  for (const Vector& piece : regular_) {
    for (uint64_t i = 0; i < piece.count; ++i) {
      const Interval block{block_begin(piece, i), block_end(piece, i)};
      if (block.begin >= tiled.begin && block.end <= tiled.end) {
        // To the last block that lies within.
        i += (tiled.end - block.end) / static_cast<uint64_t>(piece.stride);
        continue;
      }
      if (left-- == 0) return false;
      blocks_.push_back(block);
    }
  }
  for (const Interval& interval : united(std::move(blocks_)))
    append_interval(covered, interval.begin, interval.end);
  return true;
}

void Coverage::unite(std::span<const Vector> pieces, bool with_bits, SharedBits bits, const Interval& window,
                     std::vector<Interval>* covered) {
  covered->clear();
  if (!with_bits && pieces.size() == 1) {
    const Vector& piece = pieces.front();
    for (uint64_t i = 0; i < piece.count; ++i)
      append_interval(covered, block_begin(piece, i), block_end(piece, i));
    return;
  }
  if (!with_bits && unite_by_blocks(pieces, covered)) return;
  {
    BitSetter setter(bits);
    for (const Vector& piece : pieces) setter.set_piece(piece, window.begin);
  }
  bits.take(window.bytes(), window.begin, covered);
}

}  // namespace pmio
