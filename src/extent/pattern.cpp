#include "extent/pattern.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status.h"

namespace pmio {
namespace {

constexpr int64_t kMaxOffset = std::numeric_limits<int64_t>::max();
// Pattern::add has merged what is regular inside a tile. If there are more parts than this, a cursor looks
// only from one tile to the next for more of it.
constexpr size_t kFewParts = 8;

// The offset of block `index` of a vector; false: it leaves int64_t.
bool block_offset(const Vector& vector, uint64_t index, int64_t* out) {
  int64_t distance = 0;
  return !__builtin_mul_overflow(index, vector.stride, &distance) &&
         !__builtin_add_overflow(vector.offset, distance, out);
}

bool adjoins(const Vector& extent, int64_t offset) {
  int64_t end = 0;
  return extent.count == 1 && !__builtin_add_overflow(extent.offset, extent.block_length, &end) &&
         end == offset;
}

// Appends b to a if the two together are one extent or one vector.
bool merge(Vector& a, const Vector& b) {
  if (b.count == 1 && adjoins(a, b.offset)) {
    a.block_length += b.block_length;
    return true;
  }
  if (a.block_length != b.block_length) return false;
  int64_t last = 0;
  int64_t step = 0;
  if (!block_offset(a, a.count - 1, &last) || __builtin_sub_overflow(b.offset, last, &step)) return false;
  if ((a.count > 1 && a.stride != step) || (b.count > 1 && b.stride != step)) return false;
  a.stride = step;
  a.count += b.count;
  return true;
}

// Blocks that follow each other without a hole become one extent; one block gets the stride 0.
Vector normalised(Vector part) {
  if (part.count > 1 && part.stride >= 0 && static_cast<uint64_t>(part.stride) == part.block_length) {
    PMIO_ASSERT(!__builtin_mul_overflow(part.block_length, part.count, &part.block_length));
    part.count = 1;
  }
  if (part.count == 1) part.stride = 0;
  PMIO_ASSERT(part.block_length <= static_cast<uint64_t>(kMaxOffset));
  return part;
}

// Bytes of one part of a monotonic pattern that lie before `offset`, which counts from the part's tile.
uint64_t part_bytes_before(const Vector& part, int64_t offset) {
  if (offset <= part.offset) return 0;
  const auto distance = static_cast<uint64_t>(offset - part.offset);
  if (part.count == 1) return std::min(distance, part.block_length);
  const uint64_t block = distance / static_cast<uint64_t>(part.stride);
  if (block >= part.count) return part.bytes();
  return block * part.block_length +
         std::min(distance % static_cast<uint64_t>(part.stride), part.block_length);
}

// The same for one tile.
uint64_t tile_bytes_before(const Pattern& pattern, int64_t offset) {
  const auto after = std::upper_bound(pattern.parts.begin(), pattern.parts.end(), offset,
                                      [](int64_t at, const Vector& part) { return at < part.offset; });
  if (after == pattern.parts.begin()) return 0;
  const auto index = static_cast<size_t>(after - pattern.parts.begin()) - 1;
  return pattern.starts[index] + part_bytes_before(pattern.parts[index], offset);
}

// Whole blocks in so many bytes, at most `most`. Most parts of an irregular pattern are one block, and spare
// the division.
uint64_t whole_blocks(uint64_t bytes, uint64_t length, uint64_t most) {
  if (most == 1) return bytes >= length ? 1 : 0;
  return std::min(most, bytes / length);
}

}  // namespace

bool well_formed(const Vector& range) {
  if (range.offset < 0 || range.block_length == 0 || range.count == 0) return false;
  if (range.count > 1 && std::cmp_less(range.stride, range.block_length)) return false;
  int64_t last = 0;
  int64_t end = 0;
  return block_offset(range, range.count - 1, &last) &&
         !__builtin_add_overflow(last, range.block_length, &end);
}

void Pattern::add(const Vector& part) {
  if (part.block_length == 0 || part.count == 0) return;
  Vector rest = normalised(part);
  // A merge may make the last part fit the one before it, hence the loop. Each turn takes a part away or
  // ends.
  while (!parts.empty()) {
    Vector& last = parts.back();
    int64_t last_block = 0;
    if (rest.count == 1 && last.count > 1 && block_offset(last, last.count - 1, &last_block)) {
      Vector tail{last_block, last.block_length};
      if (adjoins(tail, rest.offset)) {
        // The new bytes lengthen the vector's last block, which becomes a part of its own. What is left of
        // the vector may now fit the part before it.
        tail.block_length += rest.block_length;
        rest = tail;
        if (--last.count > 1) break;
        const Vector head{last.offset, last.block_length};
        parts.pop_back();
        add(head);
        continue;
      }
    }
    if (!merge(last, rest)) break;
    rest = last;
    parts.pop_back();
  }
  parts.push_back(rest);
}

void Pattern::finish(int64_t extent_bytes) {
  extent = extent_bytes;
  size = 0;
  starts.clear();
  starts.reserve(parts.size());
  for (const Vector& part : parts) {
    uint64_t bytes_of_part = 0;
    starts.push_back(size);
    PMIO_ASSERT(!__builtin_mul_overflow(part.block_length, part.count, &bytes_of_part));
    PMIO_ASSERT(!__builtin_add_overflow(size, bytes_of_part, &size));
  }
  PMIO_ASSERT(size <= static_cast<uint64_t>(kMaxOffset));
  dense = parts.size() == 1 && parts[0].count == 1 && extent == static_cast<int64_t>(size);
  lower = dense ? parts[0].offset : 0;
}

Pattern Pattern::bytes(uint64_t n) {
  Pattern pattern;
  pattern.add({0, n});
  pattern.finish(static_cast<int64_t>(n));
  return pattern;
}

bool tiles_are_apart(const Pattern& pattern) {
  if (pattern.parts.empty()) return true;
  int64_t next_tile = 0;
  return !__builtin_add_overflow(pattern.parts[0].offset, pattern.extent, &next_tile) &&
         next_tile >= pattern.parts.back().end();
}

uint64_t bytes_before(const Pattern& pattern, int64_t offset) {
  if (pattern.size == 0 || offset <= pattern.parts.front().offset) return 0;
  // Tiles that count don't overlap, but one may begin before the holes of the one before it end: count from
  // the first data byte.
  const int64_t tile =
      tiles_are_apart(pattern) ? (offset - pattern.parts.front().offset) / pattern.extent : 0;
  return static_cast<uint64_t>(tile) * pattern.size +
         tile_bytes_before(pattern, offset - tile * pattern.extent);
}

PatternCursor::PatternCursor(const Pattern& pattern, int64_t base, uint64_t skip)
    : pattern_(&pattern), base_(base), position_(skip) {
  seek(skip);
}

void PatternCursor::enter_tile(uint64_t tile) {
  tile_ = tile;
  block_by_block_ = pattern_->parts.size() > kFewParts &&
                    !__builtin_mul_overflow(tile, pattern_->extent, &shift_) &&
                    !__builtin_add_overflow(shift_, base_, &shift_);
}

void PatternCursor::seek(uint64_t position) {
  position_ = position;
  if (pattern_->dense || pattern_->size == 0) return;
  enter_tile(position / pattern_->size);
  const uint64_t in_tile = position % pattern_->size;
  const auto& starts = pattern_->starts;
  part_ =
      in_tile == 0
          ? 0
          : static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), in_tile) - starts.begin()) - 1;
  const uint64_t in_part = in_tile - starts[part_];
  block_ = in_part / pattern_->parts[part_].block_length;
  in_block_ = in_part % pattern_->parts[part_].block_length;
}

bool PatternCursor::try_offset(int64_t* out) const {
  int64_t distance = 0;
  if (pattern_->dense) {
    return !__builtin_add_overflow(base_, pattern_->lower, out) &&
           !__builtin_add_overflow(*out, position_, out);
  }
  if (pattern_->size == 0) {
    *out = base_;
    return true;
  }
  return block_offset(pattern_->parts[part_], block_, out) &&
         !__builtin_mul_overflow(tile_, pattern_->extent, &distance) &&
         !__builtin_add_overflow(*out, distance, out) && !__builtin_add_overflow(*out, base_, out) &&
         !__builtin_add_overflow(*out, in_block_, out);
}

int64_t PatternCursor::offset() const {
  int64_t result = 0;
  PMIO_ASSERT(try_offset(&result));
  return result;
}

// Past `blocks` whole blocks of the current part, from the start of a block.
void PatternCursor::advance_blocks(uint64_t blocks) {
  const Vector& part = pattern_->parts[part_];
  position_ += blocks * part.block_length;
  block_ += blocks;
  if (block_ < part.count) return;
  block_ = 0;
  if (++part_ < pattern_->parts.size()) return;
  part_ = 0;
  enter_tile(tile_ + 1);
}

// Past at most max_bytes of what is left of the current block; returns how many.
uint64_t PatternCursor::take_from_block(uint64_t max_bytes) {
  const uint64_t left = pattern_->parts[part_].block_length - in_block_;
  if (max_bytes < left) {
    in_block_ += max_bytes;
    position_ += max_bytes;
    return max_bytes;
  }
  position_ -= in_block_;
  in_block_ = 0;
  advance_blocks(1);
  return left;
}

Vector PatternCursor::next_dense(uint64_t max_bytes) {
  const int64_t start = offset();
  const uint64_t room = static_cast<uint64_t>(kMaxOffset) - static_cast<uint64_t>(start);
  const uint64_t length = start < 0 ? max_bytes : std::min(max_bytes, room);
  PMIO_ASSERT(length > 0);
  position_ += length;
  return {start, length};
}

// The whole tiling of a one-part pattern is one endless vector: take `blocks` of it, fewer where offsets
// would overflow.
Vector PatternCursor::next_endless(uint64_t blocks, int64_t stride) {
  const Vector& part = pattern_->parts[0];
  Vector result{offset(), part.block_length, stride, blocks};
  for (int64_t last = 0, end = 0; !block_offset(result, result.count - 1, &last) ||
                                  __builtin_add_overflow(last, part.block_length, &end);) {
    PMIO_ASSERT(result.count > 1);
    result.count /= 2;
  }
  if (result.count == 1) result.stride = 0;
  position_ += result.bytes();
  if (part.count == 1) {
    tile_ += result.count;
  } else {
    block_ += result.count;
    if (block_ >= part.count) {
      tile_ += block_ / part.count;
      block_ %= part.count;
    }
  }
  return result;
}

// Merges what follows, from the start of a part, into vector, by at most budget bytes.
void PatternCursor::extend(Vector& vector, uint64_t budget) {
  while (budget > 0 && block_ == 0) {
    const Vector& part = pattern_->parts[part_];
    Vector following{0, part.block_length, part.stride, whole_blocks(budget, part.block_length, part.count)};
    if (!try_offset(&following.offset)) return;
    if (part.count == 1 && adjoins(vector, following.offset)) {
      const uint64_t taken = take_from_block(budget);
      vector.block_length += taken;
      budget -= taken;
      if (in_block_ != 0) return;
      continue;
    }
    if (following.count == 0 || !merge(vector, following)) return;
    advance_blocks(following.count);
    budget -= following.bytes();
  }
}

Vector PatternCursor::next_group(uint64_t max_bytes) {
  PMIO_ASSERT(max_bytes > 0 && pattern_->size > 0);
  if (pattern_->dense) return next_dense(max_bytes);
  const Vector& part = pattern_->parts[part_];
  if (in_block_ != 0 || max_bytes < part.block_length) {
    const int64_t start = offset();
    return {start, take_from_block(max_bytes)};
  }
  if (pattern_->parts.size() == 1) {
    const uint64_t blocks = max_bytes / part.block_length;
    int64_t tile = 0;
    if (part.count == 1) return next_endless(blocks, pattern_->extent);
    if (!__builtin_mul_overflow(part.count, part.stride, &tile) && tile == pattern_->extent) {
      return next_endless(blocks, part.stride);
    }
  }
  return next_blocks(max_bytes);
}

// From the start of a block, which max_bytes reach past.
Vector PatternCursor::next_blocks(uint64_t max_bytes) {
  const Vector& part = pattern_->parts[part_];
  // The caller's: a copy by wide loads would wait until all stores before it have left the processor.
  Vector result{offset(), part.block_length, part.stride,
                whole_blocks(max_bytes, part.block_length, part.count - block_)};
  if (result.count == 1) result.stride = 0;
  advance_blocks(result.count);
  if (part_ == 0 || pattern_->parts.size() <= kFewParts) extend(result, max_bytes - result.bytes());
  return result;
}

PatternCursor::Piece PatternCursor::next_piece(uint64_t max_bytes) {
  PMIO_ASSERT(max_bytes > 0 && pattern_->size > 0);
  if (pattern_->dense) {
    const Vector extent = next_dense(max_bytes);
    return {extent.offset, extent.block_length};
  }
  Piece piece{offset(), take_from_block(max_bytes)};
  int64_t following = 0;
  while (piece.length < max_bytes && try_offset(&following) &&
         following == piece.offset + static_cast<int64_t>(piece.length)) {
    piece.length += take_from_block(max_bytes - piece.length);
  }
  return piece;
}

void PatternCursor::rewind(uint64_t n) {
  PMIO_ASSERT(n <= position_);
  if (pattern_->dense) {
    position_ -= n;
  } else if (n <= in_block_) {
    in_block_ -= n;
    position_ -= n;
  } else {
    seek(position_ - n);
  }
}

}  // namespace pmio
