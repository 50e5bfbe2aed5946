#include "twophase/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace pmio {
namespace {

constexpr uint64_t kWindow = 5000, kBase = 1 << 20;

class CoverageTest : public testing::Test {
 protected:
  SharedBits bits() { return SharedBits(reinterpret_cast<std::byte*>(memory_.data())); }

  std::vector<Interval> taken() {
    std::vector<Interval> list;
    bits().take(kWindow, kBase, &list);
    return list;
  }

 private:
  std::vector<uint64_t> memory_ = std::vector<uint64_t>(SharedBits::bytes_for(kWindow) / 8 + 1);
};

// By a byte for each byte.
std::vector<Interval> intervals_of(const std::vector<char>& bytes) {
  std::vector<Interval> list;
  for (uint64_t at = 0; at < bytes.size(); ++at)
    if (bytes[at] != 0) append_interval(&list, kBase + at, kBase + at + 1);
  return list;
}

TEST_F(CoverageTest, BitsAreThoseOfThePieces) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<char> expected(kWindow);
    {
      BitSetter setter(bits());
      for (uint64_t piece = random() % 300; piece > 0; --piece) {
        const uint64_t begin = random() % kWindow;
        const uint64_t end = std::min(kWindow, begin + 1 + random() % (round % 2 == 0 ? 20 : 400));
        setter.set(begin, end);
        std::fill(expected.begin() + static_cast<int64_t>(begin),
                  expected.begin() + static_cast<int64_t>(end), 1);
      }
    }
    EXPECT_EQ(taken(), intervals_of(expected)) << round;
    EXPECT_TRUE(taken().empty());
  }
}

TEST_F(CoverageTest, BlocksAreAStrideApart) {
  BitSetter(bits()).set_piece({kBase + 3, 2, 5, 3}, kBase);
  const std::vector<Interval> expected{
      {kBase + 3, kBase + 5}, {kBase + 8, kBase + 10}, {kBase + 13, kBase + 15}};
  EXPECT_EQ(taken(), expected);
}

// Neighbours share words.
TEST_F(CoverageTest, RanksSetBitsAtTheSameTime) {
  constexpr uint64_t kRanks = 4;
  for (const uint64_t length : {1, 3, 8, 13, 64, 200}) {
    std::vector<std::thread> ranks;
    for (uint64_t rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([this, rank, length] {
        BitSetter setter(bits());
        for (uint64_t at = rank * length; at + length <= kWindow; at += kRanks * length)
          setter.set(at, at + length);
      });
    for (std::thread& rank : ranks) rank.join();
    const std::vector<Interval> expected{{kBase, kBase + kWindow / length * length}};
    EXPECT_EQ(taken(), expected) << length;
  }
}

}  // namespace
}  // namespace pmio
