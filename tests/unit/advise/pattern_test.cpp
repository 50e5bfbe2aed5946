#include "advise/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pmio {
namespace {

using namespace advise;

Pattern small_records() { return {.transfer = {.ranks = 2, .call_bytes = 1312, .calls = 40000}}; }

bool has(const std::vector<WayEstimate>& ways, const std::string& what) {
  return std::any_of(ways.begin(), ways.end(), [&](const WayEstimate& way) { return way.what == what; });
}

TEST(PatternTest, BoundsAreInOrder) {
  for (const WayEstimate& way : estimate_ways(small_records(), model::Machine()))
    for (const Estimate& each : {way.to_log, way.to_file}) {
      EXPECT_GT(each.low, 0) << way.what;
      EXPECT_LE(each.low, each.likely) << way.what;
      EXPECT_LE(each.likely, each.high) << way.what;
    }
}

TEST(PatternTest, SettingsThatMatterForThePattern) {
  Pattern pattern = small_records();
  model::Machine machine;
  EXPECT_TRUE(has(estimate_ways(pattern, machine), "log of huge pages"));
  EXPECT_FALSE(has(estimate_ways(pattern, machine), "log with room for all"));
  EXPECT_TRUE(has(estimate_ways(pattern, machine), "log, one call for many"));
  machine.log.capacity_bytes = 1e6;
  EXPECT_TRUE(has(estimate_ways(pattern, machine), "log with room for all"));
  pattern.has_huge_pages = true;
  EXPECT_FALSE(has(estimate_ways(pattern, machine), "log of huge pages"));
  pattern.transfer.call_bytes = 1 << 20;
  EXPECT_EQ(estimate_ways(pattern, machine).size(), 4U);  // pmio writes these straight to the file
}

TEST(PatternTest, TheLargestGainIsFirst) {
  const Pattern pattern = small_records();
  const auto ways = estimate_ways(pattern, model::Machine());
  const auto changes = changes_for(pattern, ways);
  ASSERT_FALSE(changes.empty());
  EXPECT_TRUE(std::is_sorted(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.gain_seconds() > b.gain_seconds();
  }));
  for (const Change& change : changes) EXPECT_LE(change.to.high, change.from_seconds) << change.what;
}

TEST(PatternTest, WhatCountsIsTheGoal) {
  Pattern pattern = small_records();
  const auto ways = estimate_ways(pattern, model::Machine());
  pattern.goal = Goal::time_to_log;
  const auto by_log = changes_for(pattern, ways);
  EXPECT_TRUE(std::any_of(by_log.begin(), by_log.end(), [](const Change& c) { return c.what == "log"; }));
}

}  // namespace
}  // namespace pmio
