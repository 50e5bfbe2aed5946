#include "drain/tiling.h"

#include <algorithm>

namespace pmio {
namespace {

// A column: equal blocks, one per stride, without a break.
struct Column {
  uint64_t phase;   // first byte modulo the stride
  uint64_t length;  // of a block
  uint64_t begin;   // first byte
  uint64_t end;     // one past the last block
};

// Columns sorted by phase and length: of each phase and length the longest column that vectors make by
// continuing each other.
std::vector<Column> columns_of(std::span<const Vector> vectors, uint64_t stride) {
  std::vector<Column> parts, longest;
  for (const Vector& v : vectors) {
    const auto begin = static_cast<uint64_t>(v.offset);
    parts.push_back({begin % stride, v.block_length, begin, static_cast<uint64_t>(v.end())});
  }
  std::sort(parts.begin(), parts.end(), [](const Column& a, const Column& b) {
    return a.phase != b.phase     ? a.phase < b.phase
           : a.length != b.length ? a.length < b.length
                                  : a.begin < b.begin;
  });
  for (size_t i = 0; i < parts.size();) {
    Column chain = parts[i], best = chain;
    for (++i; i < parts.size() && parts[i].phase == chain.phase && parts[i].length == chain.length; ++i) {
      if (parts[i].begin > chain.end - chain.length + stride) chain = parts[i];
      chain.end = std::max(chain.end, parts[i].end);
      if (chain.end - chain.begin > best.end - best.begin) best = chain;
    }
    longest.push_back(best);
  }
  return longest;
}

}  // namespace

Interval tiled_range(std::span<const Vector> vectors) {
  const auto stride = static_cast<uint64_t>(vectors.front().stride);
  for (const Vector& v : vectors)
    if (v.count == 1 || static_cast<uint64_t>(v.stride) != stride) return {0, 0};
  const std::vector<Column> columns = columns_of(vectors, stride);
  // From the first phase once around: each block must begin at or before the end of those before it.
  uint64_t reached = columns.front().phase, begin = 0, end = UINT64_MAX;
  for (const Column& column : columns) {
    if (column.phase > reached) return {0, 0};
    reached = std::max(reached, column.phase + column.length);
    begin = std::max(begin, column.begin);
    end = std::min(end, column.end);
  }
  if (reached < columns.front().phase + stride || begin >= end) return {0, 0};
  return {begin, end};
}

}  // namespace pmio
