#include "drain/blocks.h"

#include <algorithm>

#include "base/copy.h"
#include "extent/strided_copy.h"

namespace pmio {
BlockRange blocks_in(const Vector& v, const Interval& range) {
  const auto offset = static_cast<uint64_t>(v.offset);
  if (v.count == 1) return {0, range.begin < offset + v.block_length && range.end > offset};
  const auto stride = static_cast<uint64_t>(v.stride);
  const uint64_t first_end = offset + v.block_length;
  const uint64_t first = range.begin < first_end ? 0 : (range.begin - first_end) / stride + 1;
  const uint64_t last = range.end <= offset ? 0 : std::min(v.count, (range.end - offset - 1) / stride + 1);
  return {first, std::max(first, last)};
}

bool interleaved(const Vector& a, const Vector& b) {
  if (a.count == 1 || b.count == 1 || a.stride != b.stride || a.stride <= 0) return false;
  const int64_t shift = ((b.offset - a.offset) % a.stride + a.stride) % a.stride;
  return shift >= static_cast<int64_t>(a.block_length) &&
         shift + static_cast<int64_t>(b.block_length) <= a.stride;
}

bool may_share_a_byte(const Vector& a, const Vector& b) {
  constexpr uint64_t kMostBlocks = 4096;
  if (a.offset >= b.end() || b.offset >= a.end()) return false;
  if (a.count > 1 && a.stride == b.stride) return !interleaved(a, b);
  const Vector& fewer = a.count <= b.count ? a : b;
  const Vector& more = a.count <= b.count ? b : a;
  if (fewer.count > kMostBlocks) return true;
  for (uint64_t i = 0; i < fewer.count; i++) {
    const auto [first, last] = blocks_in(more, {block_begin(fewer, i), block_end(fewer, i)});
    if (first < last) return true;
  }
  return false;
}

bool well_ordered(std::span<const Vector> list) {
  int64_t end = 0;
  for (const Vector& vector : list) {
    if (!well_formed(vector) || vector.offset < end) return false;
    end = vector.end();
  }
  return true;
}

Vector span_of(std::span<const Vector> ranges) {
  int64_t begin = INT64_MAX, end = 0;
  for (const Vector& range : ranges) {
    begin = std::min(begin, range.offset);
    end = std::max(end, range.end());
  }
  return {begin, static_cast<uint64_t>(end - begin), 0, 1};
}

void copy_blocks(const Vector& v, const std::byte* data, const Interval& range, uint64_t a, std::byte* out) {
  for_block_runs(v, range, [&](uint64_t begin, uint64_t end, uint64_t block, uint64_t count) {
    const std::byte* from = data + block * v.block_length + (begin - block_begin(v, block));
    if (count == 1)
      copy_bytes(out + (begin - a), from, end - begin);
    else
      scatter_blocks(out + (begin - a), from, v.block_length, v.stride, count);
  });
}

}  // namespace pmio
