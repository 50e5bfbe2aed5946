// Patterns and cursors against a naive oracle: the list of every byte's offset.
#include "extent/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace pmio {
namespace {

using Random = std::mt19937_64;

uint64_t pick(Random& random, uint64_t low, uint64_t high) { return low + random() % (high - low + 1); }

void append_bytes(std::vector<int64_t>& out, const Vector& vector, int64_t base) {
  for (uint64_t i = 0; i < vector.count; ++i) {
    for (uint64_t b = 0; b < vector.block_length; ++b) {
      out.push_back(base + vector.offset + static_cast<int64_t>(i) * vector.stride + static_cast<int64_t>(b));
    }
  }
}

struct Case {
  Pattern pattern;
  std::vector<int64_t> tile;  // oracle: offsets of one tile's bytes in stream order

  void add(const Vector& part) {
    pattern.add(part);
    append_bytes(tile, part, 0);
  }
  int64_t at(int64_t base, uint64_t position) const {
    const auto number = static_cast<int64_t>(position / tile.size());
    return base + number * pattern.extent + tile[position % tile.size()];
  }
};

// Few distinct numbers, so that parts often adjoin, continue or repeat each other.
Case random_case(Random& random) {
  Case result;
  // Of many parts, a cursor merges only tiles.
  const uint64_t parts = pick(random, 0, 3) == 0 ? pick(random, 9, 20) : pick(random, 1, 6);
  int64_t at = static_cast<int64_t>(pick(random, 0, 8)) - 4;
  for (uint64_t i = 0; i < parts; ++i) {
    Vector part{at, pick(random, 1, 3), 0, pick(random, 1, 4)};
    if (part.count > 1)
      part.stride = static_cast<int64_t>(pick(random, 0, 6)) - (pick(random, 0, 4) == 0 ? 4 : 0);
    result.add(part);
    at = part.end() + static_cast<int64_t>(pick(random, 0, 3)) - (pick(random, 0, 5) == 0 ? 5 : 0);
  }
  const uint64_t kind = pick(random, 0, 3);
  const auto size = static_cast<int64_t>(result.tile.size());
  const int64_t extent =
      kind == 0   ? size
      : kind == 1 ? at
      : kind == 2 ? static_cast<int64_t>(pick(random, 0, 40)) - 10
                  : result.pattern.parts[0].stride * static_cast<int64_t>(result.pattern.parts[0].count);
  result.pattern.finish(extent);
  return result;
}

void expect_invariants(const Case& c) {
  std::vector<int64_t> bytes;
  uint64_t start = 0;
  ASSERT_EQ(c.pattern.starts.size(), c.pattern.parts.size());
  for (size_t i = 0; i < c.pattern.parts.size(); ++i) {
    const Vector& part = c.pattern.parts[i];
    EXPECT_EQ(c.pattern.starts[i], start);
    EXPECT_GT(part.bytes(), 0u);
    if (part.count == 1) {
      EXPECT_EQ(part.stride, 0);
    } else {
      EXPECT_NE(part.stride, static_cast<int64_t>(part.block_length));
    }
    start += part.bytes();
    append_bytes(bytes, part, 0);
  }
  EXPECT_EQ(bytes, c.tile);
  EXPECT_EQ(c.pattern.size, c.tile.size());
}

// Walks `steps` random steps and compares every byte.
void walk(const Case& c, Random& random, int steps) {
  const auto base = static_cast<int64_t>(pick(random, 0, 100));
  uint64_t position = pick(random, 0, 3 * c.tile.size());
  PatternCursor cursor(c.pattern, base, position);
  for (int step = 0; step < steps; ++step) {
    ASSERT_EQ(cursor.position(), position);
    ASSERT_EQ(cursor.offset(), c.at(base, position));
    const uint64_t most = pick(random, 1, pick(random, 0, 1) == 0 ? 5 : 60);
    std::vector<int64_t> bytes;
    switch (pick(random, 0, 2)) {
      case 0: {
        const Vector vector = cursor.next(most);
        EXPECT_TRUE(vector.count > 1 || vector.stride == 0);
        append_bytes(bytes, vector, 0);
        break;
      }
      case 1: {
        const auto piece = cursor.next_piece(most);
        append_bytes(bytes, {piece.offset, piece.length}, 0);
        if (piece.length < most) {  // as long as possible
          EXPECT_NE(c.at(base, position + piece.length), piece.offset + static_cast<int64_t>(piece.length));
        }
        break;
      }
      default: {
        const uint64_t back = std::min(position, pick(random, 0, 20));
        cursor.rewind(back);
        position -= back;
        continue;
      }
    }
    ASSERT_GT(bytes.size(), 0u);
    ASSERT_LE(bytes.size(), most);
    for (int64_t offset : bytes) ASSERT_EQ(offset, c.at(base, position++));
  }
}

TEST(Vector, WellFormedIffOrderedBytesOfAFile) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  constexpr int64_t kHalf = int64_t{1} << 62;
  // The stride of one block says nothing.
  const Vector good[] = {
      {0, 1},           {kLast - 1, 1},         {0, kLast},      {5, 3, -7, 1}, {0, 8, 8, 2},
      {0, 1, 1, kLast}, {kLast - 11, 1, 10, 2}, {0, 1, kHalf, 2}};
  for (const Vector& one : good) EXPECT_TRUE(well_formed(one)) << one.offset << " " << one.block_length;
  const Vector bad[] = {{-1, 1},
                        {0, 0},
                        {0, 1, 1, 0},
                        {0, 8, 7, 2},
                        {100, 8, -8, 2},
                        {kLast, 1},
                        {1, kLast},
                        {0, ~uint64_t{0}},
                        {1, 1, 1, kLast},
                        {kLast - 10, 1, 10, 2},
                        {0, 1, kHalf, 3},
                        {0, 1, 8, ~uint64_t{0}},
                        {0, uint64_t{2} * kHalf, -kHalf, 2}};
  for (const Vector& one : bad) EXPECT_FALSE(well_formed(one)) << one.offset << " " << one.block_length;
}

TEST(Pattern, RandomAgainstOracle) {
  const uint64_t first = std::random_device{}();
  for (uint64_t seed = first; seed < first + 20000; ++seed) {
    Random random(seed);
    const Case c = random_case(random);
    expect_invariants(c);
    walk(c, random, 30);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// Every pair of small vectors, every skip, every budget.
TEST(Pattern, SmallExhaustive) {
  std::vector<Vector> shapes;
  for (uint64_t length = 1; length <= 2; ++length) {
    for (uint64_t count = 1; count <= 3; ++count) {
      for (int64_t stride = 1; stride <= (count == 1 ? 1 : 4); ++stride)
        shapes.push_back({0, length, stride, count});
    }
  }
  for (const Vector& first : shapes) {
    for (Vector second : shapes) {
      for (int64_t gap = 0; gap <= 2; ++gap) {
        for (int64_t tail = 0; tail <= 2; ++tail) {
          Case c;
          c.add(first);
          second.offset = first.end() + gap;
          c.add(second);
          c.pattern.finish(second.end() + tail);
          for (uint64_t skip = 0; skip < c.tile.size(); ++skip) {
            for (uint64_t most = 1; most <= 2 * c.tile.size(); ++most) {
              PatternCursor cursor(c.pattern, 7, skip);
              std::vector<int64_t> bytes;
              append_bytes(bytes, cursor.next(most), 0);
              ASSERT_LE(bytes.size(), most);
              for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], c.at(7, skip + i));
            }
          }
        }
      }
    }
  }
}

TEST(Pattern, AddMerges) {
  Pattern adjoining;
  for (int i = 0; i < 10; ++i) adjoining.add({i * 4, 4});
  EXPECT_EQ(adjoining.parts, (std::vector<Vector>{{0, 40}}));

  Pattern regular;
  for (int i = 0; i < 10; ++i) {
    regular.add({i * 16, 4});
    regular.add({i * 16 + 4, 4});
  }
  EXPECT_EQ(regular.parts, (std::vector<Vector>{{0, 8, 16, 10}}));

  Pattern continued;
  continued.add({0, 8, 100, 5});
  continued.add({500, 8, 100, 3});
  continued.add({800, 8});
  EXPECT_EQ(continued.parts, (std::vector<Vector>{{0, 8, 100, 9}}));

  Pattern packed;
  packed.add({3, 8, 8, 5});
  packed.add({0, 0, 8, 5});
  EXPECT_EQ(packed.parts, (std::vector<Vector>{{3, 40}}));
}

TEST(Pattern, TilesBecomeOneVector) {
  Pattern pattern;
  pattern.add({0, 8});
  pattern.finish(16);
  PatternCursor cursor(pattern, 1000, 0);
  EXPECT_EQ(cursor.next(8000), (Vector{1000, 8, 16, 1000}));
  EXPECT_EQ(cursor.next(3), (Vector{17000, 3}));
  EXPECT_EQ(cursor.next(100), (Vector{17003, 5}));
  EXPECT_EQ(cursor.next(20), (Vector{17016, 8, 16, 2}));

  Pattern vector;
  vector.add({5, 8, 16, 3});
  vector.finish(48);
  PatternCursor tiled(vector, 0, 8);
  EXPECT_EQ(tiled.next(80), (Vector{21, 8, 16, 10}));
  EXPECT_EQ(tiled.position(), 88u);
  EXPECT_EQ(tiled.offset(), 5 + 11 * 16);
}

TEST(Pattern, OneVectorPerPart) {
  Pattern planes;
  for (int plane = 0; plane < 4; ++plane) planes.add({plane * 10000, 8, 100, 10});
  planes.finish(40000);
  ASSERT_EQ(planes.parts.size(), 4u);
  PatternCursor cursor(planes, 0, 0);
  for (int plane = 0; plane < 8; ++plane)
    EXPECT_EQ(cursor.next(1 << 20), (Vector{plane * 10000, 8, 100, 10}));
}

TEST(Pattern, OfManyPartsTilesMergeStill) {
  Pattern pattern;
  for (int i = 0; i < 20; ++i) pattern.add({i * i * 10, static_cast<uint64_t>(i) + 1});
  pattern.finish(pattern.parts.back().end());
  ASSERT_EQ(pattern.parts.size(), 20u);
  PatternCursor cursor(pattern, 0, 0);
  for (int i = 0; i < 19; ++i)
    EXPECT_EQ(cursor.next(1000), (Vector{i * i * 10, static_cast<uint64_t>(i) + 1}));
  EXPECT_EQ(cursor.next(1000), (Vector{3610, 21})) << "20 bytes, and the first of the next tile";
}

TEST(Pattern, DenseIsOneExtent) {
  const Pattern pattern = Pattern::bytes(7);
  EXPECT_TRUE(pattern.dense);
  PatternCursor cursor(pattern, 100, 3);
  EXPECT_EQ(cursor.next(1000), (Vector{103, 1000}));
  cursor.rewind(4);
  EXPECT_EQ(cursor.next_piece(10).offset, 1099);
}

TEST(Pattern, EmptyHasAnOffset) {
  const Pattern pattern = Pattern::bytes(0);
  PatternCursor cursor(pattern, 42, 0);
  EXPECT_EQ(cursor.offset(), 42);
}

TEST(Pattern, HugeSizes) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Pattern pattern;
  pattern.add({0, uint64_t{1} << 40});
  pattern.finish(int64_t{1} << 41);
  PatternCursor cursor(pattern, 0, 0);
  // No more blocks than have an offset.
  const Vector vector = cursor.next(std::numeric_limits<uint64_t>::max() >> 1);
  EXPECT_GT(vector.count, uint64_t{1} << 20);
  EXPECT_LT(vector.end(), kMax);
  const Pattern bytes = Pattern::bytes(1);
  PatternCursor end(bytes, kMax - 10, 0);
  EXPECT_EQ(end.next(100), (Vector{kMax - 10, 10}));
}

}  // namespace
}  // namespace pmio
