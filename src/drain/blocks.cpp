#include "drain/blocks.h"

#include <algorithm>
#include <cstring>

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

void copy_blocks(const Vector& v, const std::byte* data, const Interval& range, uint64_t a, std::byte* out) {
  for_block_runs(v, range, [&](uint64_t begin, uint64_t end, uint64_t block, uint64_t count) {
    const std::byte* from = data + block * v.block_length + (begin - block_begin(v, block));
    if (count == 1)
      std::memcpy(out + (begin - a), from, end - begin);
    else
      scatter_blocks(out + (begin - a), from, v.block_length, static_cast<uint64_t>(v.stride), count);
  });
}

}  // namespace pmio
