#include "stats/history.h"

#include <gtest/gtest.h>

#include <atomic>

namespace pmio {
namespace {

constexpr std::chrono::hours kNever{1};

TEST(HistoryTest, KeepsTheFirstAndTheLastOfEqualMoments) {
  std::atomic<uint64_t> bytes{0};
  History history(0, kNever, [&bytes] {
    HistoryNumbers now;
    now.log_bytes = bytes;
    return now;
  });
  for (int i = 0; i < 5; i++) (void)history.points();
  bytes = 7;
  for (int i = 0; i < 5; i++) (void)history.points();
  const History::Points points = history.points();
  ASSERT_EQ(points.size(), 4U);
  const uint64_t expected[] = {0, 0, 7, 7};
  for (size_t i = 0; i < points.size(); i++) {
    EXPECT_EQ(points[i].numbers.log_bytes, expected[i]) << i;
    if (i > 0) {
      EXPECT_GT(points[i].at_ns, points[i - 1].at_ns) << i;
    }
  }
}

TEST(HistoryTest, OfVeryManyMomentsEverySecondOneGoes) {
  std::atomic<uint64_t> looks{0};
  History history(0, kNever, [&looks] {
    HistoryNumbers now;
    now.written_bytes = ++looks;
    return now;
  });
  History::Points points;
  for (size_t i = 0; i < 10 * History::kMost; i++) points = history.points();
  EXPECT_LE(points.size(), History::kMost);
  EXPECT_GE(points.size(), History::kMost / 2);
  EXPECT_EQ(points.front().numbers.written_bytes, 1U);
  for (size_t i = 1; i < points.size(); i++)
    EXPECT_GT(points[i].numbers.written_bytes, points[i - 1].numbers.written_bytes);
}

}  // namespace
}  // namespace pmio
