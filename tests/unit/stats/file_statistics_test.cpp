#include "stats/file_statistics.h"

#include <gtest/gtest.h>

#include <string>

namespace pmio {
namespace {

FileNumbers written(uint64_t bytes) {
  FileNumbers numbers;
  numbers.opens = 1;
  numbers.written_bytes = bytes;
  return numbers;
}

TEST(FileStatisticsTest, OpensOfAFileAreAddedUp) {
  FileStatistics all;
  all.describe("/a", {"undecided", "", {}, {}});
  all.describe("/a", {"log", "pmio_mode=log", {{"k", "1"}}, {{"k", "2"}}});
  all.describe("/a", {"log", "pmio_mode=log", {{"k", "3"}}, {{"k", "4"}}});
  all.add("/a", written(1));
  all.add("/a", written(2));
  all.add("/b", written(4));
  const auto entries = all.entries();
  ASSERT_EQ(entries.size(), 2U);
  const FileStatistics::Entry& a = entries.at("/a");
  EXPECT_EQ(a.facts.engine, "undecided, log");  // each once
  EXPECT_EQ(a.facts.why, "pmio_mode=log");
  EXPECT_EQ(a.facts.wished.front().second, "3");
  EXPECT_EQ(a.facts.in_force.front().second, "4");
  EXPECT_EQ(a.numbers.opens, 2U);
  EXPECT_EQ(a.numbers.written_bytes, 3U);
  EXPECT_EQ(entries.at("/b").numbers.written_bytes, 4U);
}

TEST(FileStatisticsTest, OfVeryManyFilesTheLaterOnesShareAnEntry) {
  FileStatistics all;
  constexpr size_t kMore = 10;
  for (size_t i = 0; i < FileStatistics::kMost + kMore; i++) all.add("/" + std::to_string(i), written(1));
  const auto entries = all.entries();
  EXPECT_EQ(entries.size(), FileStatistics::kMost + 1);
  EXPECT_EQ(entries.at("").numbers.written_bytes, kMore);
}

}  // namespace
}  // namespace pmio
