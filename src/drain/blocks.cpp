#include "drain/blocks.h"

#include <algorithm>
#include <cstring>

namespace pmio {
namespace {

// A length known to the compiler turns each copy into one or two moves.
template <size_t length>
void scatter(std::byte* __restrict to, const std::byte* __restrict from, uint64_t stride, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * stride, from + i * length, length);
}

void scatter(std::byte* to, const std::byte* from, uint64_t length, uint64_t stride, uint64_t count) {
  switch (length) {
    case 1:
      return scatter<1>(to, from, stride, count);
    case 2:
      return scatter<2>(to, from, stride, count);
    case 4:
      return scatter<4>(to, from, stride, count);
    case 8:
      return scatter<8>(to, from, stride, count);
    case 12:
      return scatter<12>(to, from, stride, count);
    case 16:
      return scatter<16>(to, from, stride, count);
    case 24:
      return scatter<24>(to, from, stride, count);
    case 32:
      return scatter<32>(to, from, stride, count);
    case 40:
      return scatter<40>(to, from, stride, count);
    default:
      for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * stride, from + i * length, length);
  }
}

}  // namespace

BlockRange blocks_in(const Vector& v, const Interval& range) {
  const auto offset = static_cast<uint64_t>(v.offset);
  if (v.count == 1) return {0, range.begin < offset + v.block_length && range.end > offset};
  const auto stride = static_cast<uint64_t>(v.stride);
  const uint64_t first_end = offset + v.block_length;
  const uint64_t first = range.begin < first_end ? 0 : (range.begin - first_end) / stride + 1;
  const uint64_t last = range.end <= offset ? 0 : std::min(v.count, (range.end - offset - 1) / stride + 1);
  return {first, std::max(first, last)};
}

void copy_blocks(const Vector& v, const std::byte* data, const Interval& range, uint64_t a, std::byte* out) {
  for_block_runs(v, range, [&](uint64_t begin, uint64_t end, uint64_t block, uint64_t count) {
    const std::byte* from = data + block * v.block_length + (begin - block_begin(v, block));
    if (count == 1)
      std::memcpy(out + (begin - a), from, end - begin);
    else
      scatter(out + (begin - a), from, v.block_length, static_cast<uint64_t>(v.stride), count);
  });
}

}  // namespace pmio
