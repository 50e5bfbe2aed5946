// What is left of pieces that overwrite each other paints the same, and each byte keeps its stamp and its
// rank.
#include "drain/visible.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "drain/blocks.h"
#include "records.h"

namespace pmio {
namespace {

using test::below;
using test::Random;

constexpr uint64_t kWindow = 3;
constexpr Interval kBytes{kWindow * kWindowBytes, (kWindow + 1) * kWindowBytes};

uint64_t bytes_of(std::span<const Piece> pieces) {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.range.bytes();
  return bytes;
}

// Byte by byte, the place of the byte in memory that wins, of which rank and stamp.
struct Winner {
  const std::byte* data = nullptr;
  uint64_t stamp = 0;
  uint32_t rank = 0;
  bool operator==(const Winner&) const = default;
};
std::vector<Winner> winners(std::span<const Piece> pieces, uint64_t file_bytes) {
  std::vector<Winner> all(file_bytes);
  for (const Piece& piece : pieces) {
    for (uint64_t i = 0; i < piece.range.bytes(); i++) {
      const uint64_t length = piece.range.block_length;
      Winner& at = all[block_begin(piece.range, i / length) + i % length - kBytes.begin];
      if (std::pair(piece.stamp, piece.rank) >= std::pair(at.stamp, at.rank))
        at = {piece.data + i, piece.stamp, piece.rank};
    }
  }
  return all;
}

struct Shape {
  uint64_t file_bytes, most_length, most_stride_gap, most_count, most_pieces, grain;
};

Vector random_range(Random& random, const Shape& shape) {
  Vector v;
  v.block_length = (1 + below(random, shape.most_length)) * shape.grain;
  v.count = 1 + below(random, shape.most_count);
  v.stride =
      v.count == 1
          ? 0
          : static_cast<int64_t>(v.block_length + below(random, shape.most_stride_gap + 1) * shape.grain);
  const auto span = static_cast<uint64_t>(v.end());
  if (span > shape.file_bytes) return {static_cast<int64_t>(kBytes.begin), 1, 0, 1};
  v.offset = static_cast<int64_t>(kBytes.begin +
                                  below(random, (shape.file_bytes - span) / shape.grain + 1) * shape.grain);
  return v;
}

void check_shape(const Shape& shape, uint64_t seeds) {
  const std::vector<std::byte> memory(shape.file_bytes * (shape.most_pieces + 1));
  for (uint64_t seed = 0; seed < seeds; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Piece> pieces;
    const std::byte* data = memory.data();
    for (uint64_t n = below(random, shape.most_pieces + 1); n > 0; n--) {
      pieces.push_back(
          {random_range(random, shape), 1 + below(random, 5), static_cast<uint32_t>(below(random, 3)), data});
      data += pieces.back().range.bytes();
    }
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.stamp, a.rank) < std::pair(b.stamp, b.rank);
    });
    const auto before = winners(pieces, shape.file_bytes);
    const uint64_t cost = bytes_of(pieces) + pieces.size() * kPieceCost;
    drop_overwritten(kBytes, &pieces);
    EXPECT_TRUE(winners(pieces, shape.file_bytes) == before);
    EXPECT_LE(bytes_of(pieces) + pieces.size() * kPieceCost, cost);
  }
}

TEST(Visible, Extents) { check_shape({300, 40, 0, 1, 12, 1}, 3000); }
TEST(Visible, LargeExtents) { check_shape({20'000, 8000, 0, 1, 12, 1}, 300); }
TEST(Visible, Vectors) { check_shape({500, 12, 12, 9, 8, 1}, 3000); }
TEST(Visible, DenseVectors) { check_shape({4000, 90, 5, 40, 8, 1}, 500); }
TEST(Visible, AlignedColumns) { check_shape({20'000, 3, 4, 500, 8, 8}, 200); }
TEST(Visible, MoreThanAreCompared) { check_shape({20'000, 40, 0, 1, 600, 1}, 30); }

std::vector<Piece> versions(const Vector& range, uint64_t count) {
  std::vector<Piece> pieces;
  for (uint64_t i = 0; i < count; i++) pieces.push_back({range, i, 0, nullptr});
  return pieces;
}

TEST(Visible, OfManyVersionsTheLastIsLeft) {
  constexpr auto kBegin = static_cast<int64_t>(kBytes.begin);
  for (const Vector& range : {Vector{kBegin, kWindowBytes, 0, 1}, Vector{kBegin + 8, 8, 64, 60'000},
                              Vector{kBegin + 3, 5, 11, 1000}}) {
    auto pieces = versions(range, 300);
    drop_overwritten(kBytes, &pieces);
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].range, range);
    EXPECT_EQ(pieces[0].stamp, 299u);
  }
}

TEST(Visible, WhatIsLeftOfAVectorIsOne) {
  constexpr auto kBegin = static_cast<int64_t>(kBytes.begin);
  const std::vector<std::byte> memory(8000);
  std::vector<Piece> pieces{{{kBegin, 8, 16, 1000}, 1, 0, memory.data()},
                            {{kBegin, 8000, 0, 1}, 2, 0, memory.data()}};
  drop_overwritten(kBytes, &pieces);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].range, (Vector{kBegin + 8000, 8, 16, 500}));
  EXPECT_EQ(pieces[1].data, memory.data() + 4000);
}

TEST(Visible, NothingIsTornIntoMorePiecesThanItIsWorth) {
  constexpr auto kBegin = static_cast<int64_t>(kBytes.begin);
  std::vector<Piece> pieces{{{kBegin, 8, 16, 1000}, 1, 0, nullptr}, {{kBegin, 8, 32, 500}, 2, 0, nullptr}};
  drop_overwritten(kBytes, &pieces);
  EXPECT_EQ(pieces.size(), 2u);
}

}  // namespace
}  // namespace pmio
