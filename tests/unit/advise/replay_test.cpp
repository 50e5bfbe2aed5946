#include "advise/replay.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

using namespace advise;

// A node of one rank whose log drains a byte a second.
JobRecord one_rank() {
  JobRecord job;
  job.capacity_bytes = 100;
  job.drain_bytes = job.drain_seconds = 1;
  return job;
}

const model::LogMedium kMedium{.pause_seconds = 1, .drain_from_fraction = 0.5};

TEST(ReplayTest, ACloseWaitsForWhatPausesHaveNotDrained) {
  JobRecord job = one_rank();
  job.steps = {{.bytes = 40}, {.compute_seconds = 11}, {.closes_last = true}};
  const Waits waits = replay(job, settings_of(job), kMedium);
  EXPECT_DOUBLE_EQ(waits.close_seconds, 30);  // the drain waits a second for the pause
  EXPECT_DOUBLE_EQ(waits.room_seconds, 0);
  EXPECT_DOUBLE_EQ(waits.end_seconds, 0);
  EXPECT_DOUBLE_EQ(waits.most_bytes, 40);
}

TEST(ReplayTest, AFullLogMakesCallsWait) {
  JobRecord job = one_rank();
  job.steps = {{.bytes = 100}, {.bytes = 25}, {.closes_last = true}};
  const Waits waits = replay(job, settings_of(job), kMedium);
  EXPECT_DOUBLE_EQ(waits.room_seconds, 25);
  EXPECT_DOUBLE_EQ(waits.close_seconds, 100);
}

TEST(ReplayTest, AboveHalfItDrainsBesideTheWrites) {
  JobRecord job = one_rank();
  job.steps = {{.write_seconds = 20, .bytes = 80}, {.closes_last = true}};
  EXPECT_DOUBLE_EQ(replay(job, settings_of(job), kMedium).close_seconds, 60);
  LogSettings off = settings_of(job);
  off.drains_in_background = false;
  EXPECT_DOUBLE_EQ(replay(job, off, kMedium).close_seconds, 80);
}

TEST(ReplayTest, ACloseInTheBackgroundLeavesTheRestToTheEnd) {
  JobRecord job = one_rank();
  job.steps = {{.bytes = 40}, {.closes_first = true}, {.compute_seconds = 11}};
  LogSettings settings = settings_of(job);
  settings.closes_in_background = true;
  const Waits waits = replay(job, settings, kMedium);
  EXPECT_DOUBLE_EQ(waits.close_seconds, 0);
  EXPECT_DOUBLE_EQ(waits.end_seconds, 30);
}

TEST(ReplayTest, ANodeHoldsWhatAllItsRanksLog) {
  JobRecord job = one_rank();
  job.ranks = 8;
  job.nodes = 2;
  job.steps = {{.bytes = 10}};
  EXPECT_DOUBLE_EQ(replay(job, settings_of(job), kMedium).most_bytes, 40);
}

}  // namespace
}  // namespace pmio
