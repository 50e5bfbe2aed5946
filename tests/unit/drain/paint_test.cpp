// Painting, against the naive oracle: whatever the entries, their order and the window, the newest byte wins,
// nothing outside the covered intervals changes, and the intervals are exactly those that were written.
#include "drain/paint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "records.h"

namespace pmio {
namespace {

using test::below;
using test::NewestEntry;
using test::Random;
using test::Records;

constexpr std::byte kUntouched{0x5a};

::testing::AssertionResult paints_like_oracle(Painter& painter, Records& records,
                                              std::span<const Entry> entries, const NewestEntry& oracle,
                                              uint64_t a, uint64_t b) {
  std::vector<std::byte> out(b - a, kUntouched), expected = out;
  std::vector<Interval> covered{{1, 2}};
  if (!painter.paint(entries, records, a, b, out.data(), &covered))
    return ::testing::AssertionFailure() << "not painted";
  const auto expected_covered = oracle.covered(a, b);
  if (covered != expected_covered)
    return ::testing::AssertionFailure() << covered.size() << " intervals for " << expected_covered.size();
  for (const Interval& interval : covered)
    std::memcpy(expected.data() + (interval.begin - a), oracle.value.data() + interval.begin,
                interval.bytes());
  const auto differs = std::mismatch(out.begin(), out.end(), expected.begin()).first;
  if (differs != out.end()) return ::testing::AssertionFailure() << "byte " << a + (differs - out.begin());
  return ::testing::AssertionSuccess();
}

struct Shape {
  uint64_t file_bytes, most_length, most_stride_gap, most_count, most_entries, stamps, grain;
  unsigned vectors_of_8;  // how many of 8 entries are vectors
};

Vector random_range(Random& random, const Shape& shape) {
  Vector v;
  v.block_length = (1 + below(random, shape.most_length)) * shape.grain;
  v.count = below(random, 8) < shape.vectors_of_8 ? 2 + below(random, shape.most_count) : 1;
  if (v.count > 1)
    v.stride = static_cast<int64_t>(v.block_length + below(random, shape.most_stride_gap + 1) * shape.grain);
  const uint64_t span = static_cast<uint64_t>(v.end());
  if (span >= shape.file_bytes) return {0, 1, 0, 1};
  v.offset = static_cast<int64_t>(below(random, (shape.file_bytes - span) / shape.grain + 1) * shape.grain);
  return v;
}

void check_shape(const Shape& shape, uint64_t seeds) {
  Painter painter;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Records records;
    NewestEntry oracle(shape.file_bytes);
    std::vector<Entry> entries;
    for (uint64_t n = below(random, shape.most_entries + 1); n > 0; --n) {
      entries.push_back(records.add(random, random_range(random, shape), below(random, shape.stamps),
                                    static_cast<uint32_t>(below(random, 3))));
      oracle.write(entries.back(), records.records.back());
    }
    for (int windows = 0; windows < 4; ++windows) {
      const uint64_t a = below(random, shape.file_bytes), b = a + below(random, shape.file_bytes - a + 1);
      ASSERT_TRUE(paints_like_oracle(painter, records, entries, oracle, a, b))
          << "[" << a << ", " << b << ")";
    }
    ASSERT_TRUE(paints_like_oracle(painter, records, entries, oracle, 0, shape.file_bytes));
  }
}

TEST(Paint, FewSmallExtents) { check_shape({300, 40, 0, 1, 8, 1000, 1, 0}, 3000); }
TEST(Paint, ExtentsThatOverlap) { check_shape({300, 40, 0, 1, 40, 4, 1, 0}, 3000); }
TEST(Paint, Vectors) { check_shape({500, 12, 12, 9, 8, 5, 1, 8}, 4000); }
TEST(Paint, ExtentsAndVectors) { check_shape({700, 30, 12, 9, 12, 5, 1, 4}, 4000); }
TEST(Paint, AlignedVectors) { check_shape({4096, 3, 4, 40, 10, 5, 8, 7}, 2000); }
TEST(Paint, DenseVectors) { check_shape({400, 4, 1, 20, 12, 5, 1, 8}, 3000); }
TEST(Paint, MoreThanOneStep) { check_shape({500'000, 90, 60, 4000, 6, 5, 1, 6}, 25); }
TEST(Paint, MoreThanOneStepAligned) { check_shape({500'000, 2, 3, 20'000, 6, 5, 8, 7}, 25); }

// Columns as ranks write them: one stride, several calls, gaps and double writes here and there.
TEST(Paint, ColumnsOfManyRanks) {
  Painter painter;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Records records;
    const uint64_t ranks = 1 + below(random, 5), length = below(random, 2) ? 8 : 1 + below(random, 20);
    const uint64_t stride = ranks * length + (below(random, 4) == 0), base = below(random, 2 * stride);
    NewestEntry oracle(base + stride * 140);
    std::vector<Entry> entries;
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      for (uint64_t row = 0; row < 100;) {
        const uint64_t count = 1 + below(random, 40);
        if (below(random, 10) != 0) {
          const Vector v{static_cast<int64_t>(base + row * stride + rank * length), length,
                         count == 1 ? 0 : static_cast<int64_t>(stride), count};
          entries.push_back(records.add(random, v, below(random, 5), static_cast<uint32_t>(rank)));
          oracle.write(entries.back(), records.records.back());
        }
        row += below(random, 10) == 0 ? count / 2 : count;
      }
    }
    std::shuffle(entries.begin(), entries.end(), random);
    ASSERT_TRUE(paints_like_oracle(painter, records, entries, oracle, 0, oracle.value.size()));
    const uint64_t a = below(random, oracle.value.size());
    const uint64_t b = a + below(random, oracle.value.size() - a + 1);
    ASSERT_TRUE(paints_like_oracle(painter, records, entries, oracle, a, b)) << "[" << a << ", " << b << ")";
  }
}

TEST(Paint, EveryPairOfSmallVectorsInEveryWindow) {
  std::vector<Vector> all;
  for (int64_t offset = 0; offset < 4; ++offset)
    for (uint64_t length = 1; length < 4; ++length)
      for (uint64_t count = 1; count < 4; ++count)
        for (auto stride = static_cast<int64_t>(length); stride < 5; ++stride)
          if (count > 1 || stride == static_cast<int64_t>(length))
            all.push_back({offset, length, count == 1 ? 0 : stride, count});
  Painter painter;
  Random random(1);
  for (const Vector& first : all) {
    for (const Vector& second : all) {
      Records records;
      NewestEntry oracle(16);
      std::vector<Entry> entries;
      for (const Vector& v : {first, second}) {
        entries.push_back(records.add(random, v, 7, 1));
        oracle.write(entries.back(), records.records.back());
      }
      for (uint64_t a = 0; a < 15; ++a)
        for (uint64_t b = a; b < 16; b += 3)
          ASSERT_TRUE(paints_like_oracle(painter, records, entries, oracle, a, b))
              << first.offset << "+" << first.block_length << "*" << first.count << "/" << first.stride
              << " and " << second.offset << "+" << second.block_length << "*" << second.count << "/"
              << second.stride << " in [" << a << ", " << b << ")";
    }
  }
}

TEST(Paint, WindowFarInTheFile) {
  constexpr int64_t kFar = int64_t{1} << 61;
  Random random(1);
  Records records;
  const Entry entry = records.add(random, {kFar, 8, 16, 1000}, 1, 1);
  Painter painter;
  std::vector<std::byte> out(64);
  std::vector<Interval> covered;
  ASSERT_TRUE(painter.paint({&entry, 1}, records, kFar + 1604, kFar + 1604 + 24, out.data(), &covered));
  EXPECT_EQ(covered, (std::vector<Interval>{{kFar + 1604, kFar + 1608}, {kFar + 1616, kFar + 1624}}));
  EXPECT_EQ(std::memcmp(out.data(), records.records[0].data.data() + 804, 4), 0);
  EXPECT_EQ(std::memcmp(out.data() + 12, records.records[0].data.data() + 808, 8), 0);
}

TEST(Paint, NothingToPaint) {
  Records records;
  Painter painter;
  std::byte out{};
  std::vector<Interval> covered{{1, 2}};
  EXPECT_TRUE(painter.paint({}, records, 5, 5, &out, &covered));
  EXPECT_TRUE(covered.empty());
}

TEST(Paint, SaysWhereASegmentIsGoneOrHasChanged) {
  Painter painter;
  std::vector<std::byte> out(100);
  std::vector<Interval> covered;
  for (const bool vector : {false, true}) {
    Random random(1);
    Records records;
    const Entry entry = records.add(random, vector ? Vector{10, 4, 8, 3} : Vector{10, 20, 0, 1}, 1, 1);
    records.gone = 0;
    EXPECT_FALSE(painter.paint({&entry, 1}, records, 0, 100, out.data(), &covered));
    // An entry that the window does not need is not looked up.
    EXPECT_TRUE(painter.paint({&entry, 1}, records, 50, 100, out.data(), &covered));
    records.gone.reset();
    records.records[0].range.offset += 8;
    EXPECT_FALSE(painter.paint({&entry, 1}, records, 0, 100, out.data(), &covered));
    records.records[0].range.offset -= 8;
    EXPECT_TRUE(painter.paint({&entry, 1}, records, 0, 100, out.data(), &covered));
  }
}

}  // namespace
}  // namespace pmio
