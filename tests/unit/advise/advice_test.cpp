#include "advise/advice.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pmio {
namespace {

using namespace advise;

const Change* find(const std::vector<Change>& changes, const std::string& what) {
  const auto found =
      std::find_if(changes.begin(), changes.end(), [&](const Change& each) { return each.what == what; });
  return found == changes.end() ? nullptr : &*found;
}

// A job of one rank that has waited for nothing yet, on a log of huge pages.
JobRecord quiet_job() {
  JobRecord job;
  job.wall_seconds = 100;
  job.medium = "tmpfs";
  job.has_huge_pages = true;
  job.write_seconds = 1;
  job.drain_bytes = 100;
  job.drain_seconds = 1;
  job.capacity_bytes = 1 << 20;
  job.logged_opens = 1;
  return job;
}

FileRecord written(Way way, double calls, double call_bytes, double seconds) {
  FileRecord file;
  file.path = "/f";
  file.way = way;
  file.writers = 1;
  file.opens = 1;
  file.calls = calls;
  file.bytes = calls * call_bytes;
  file.write_seconds = seconds;
  return file;
}

TEST(AdviceTest, NothingIsSaidOfARunWithoutWaits) {
  EXPECT_TRUE(changes_for(quiet_job(), model::Machine()).empty());
  EXPECT_TRUE(changes_for(JobRecord(), model::Machine()).empty());
}

TEST(AdviceTest, ALargerLogIfPausesAreLongEnough) {
  JobRecord job = quiet_job();
  job.appended_bytes = 3 << 20;
  job.wait_seconds = 20;
  job.drain_bytes = 3 << 20;
  job.drain_seconds = 30;
  // The program computes long enough for all of the drain, but only after it has waited.
  job.steps = {{.bytes = 3 << 20}, {.compute_seconds = 60}, {.closes_last = true}};
  const auto changes = changes_for(job, model::Machine());
  const Change* const change = find(changes, "a larger log");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->setting, "pmio_log_size=4M");
  EXPECT_EQ(change->from_seconds, 21);
  EXPECT_NEAR(change->to.likely, 1, 0.1);
  EXPECT_EQ(change->basis, Basis::measured);
}

TEST(AdviceTest, ALargerLogDoesNotHelpAProgramThatOnlyWrites) {
  JobRecord job = quiet_job();
  job.appended_bytes = 3 << 20;
  job.wait_seconds = 20;
  job.close_seconds = 10;
  job.drain_bytes = 3 << 20;
  job.drain_seconds = 30;
  job.steps = {{.bytes = 3 << 20}, {.closes_last = true}};
  EXPECT_EQ(find(changes_for(job, model::Machine()), "a larger log"), nullptr);
}

TEST(AdviceTest, ClosesInTheBackgroundIfTheProgramComputesAfterThem) {
  JobRecord job = quiet_job();
  job.drain_bytes = job.drain_seconds = 10;
  job.close_seconds = 10;
  job.steps = {{.bytes = 5, .closes_last = true},
               {.compute_seconds = 30, .bytes = 5, .closes_last = true},
               {.compute_seconds = 30}};
  const auto changes = changes_for(job, model::Machine());
  const Change* const change = find(changes, "closes that do not wait");
  ASSERT_NE(change, nullptr);
  EXPECT_NEAR(change->to.likely, 1, 1e-9);
  job.steps = {{.bytes = 10, .closes_last = true}};  // and ends
  EXPECT_EQ(find(changes_for(job, model::Machine()), "closes that do not wait"), nullptr);
  job.closes_in_background = true;
  EXPECT_TRUE(changes_for(job, model::Machine()).empty());
}

TEST(AdviceTest, OneCallForMany) {
  JobRecord job = quiet_job();
  job.write_seconds = 10;
  job.files = {written(Way::log, 1e6, 8, 10)};
  const auto changes = changes_for(job, model::Machine());
  const Change* const change = find(changes, "one call for many");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->file, "/f");
  EXPECT_TRUE(change->setting.empty());
  EXPECT_LT(change->to.likely, 1.1);
  job.files = {written(Way::log, 1e6, 65536, 10)};
  EXPECT_EQ(find(changes_for(job, model::Machine()), "one call for many"), nullptr);
}

TEST(AdviceTest, FewerSyncs) {
  JobRecord job = quiet_job();
  job.sync_calls = 1000;
  job.sync_seconds = 20;
  const auto changes = changes_for(job, model::Machine());
  const Change* const change = find(changes, "fewer syncs");
  ASSERT_NE(change, nullptr);
  EXPECT_LT(change->to.high, 21);
  EXPECT_GT(change->to.low, 0.8);
}

TEST(AdviceTest, TheFileThroughTheLogIfSomethingCanBeDoneAboutIt) {
  JobRecord job;
  job.wall_seconds = 100;
  job.straight_seconds = 50;
  job.files = {written(Way::library, 100000, 1312, 50)};
  job.files[0].reason = "its file system is untried: pmio_mode=log";
  const auto changes = changes_for(job, model::Machine());
  const Change* const change = find(changes, "the file through the log");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->setting, "pmio_mode=log");
  EXPECT_EQ(change->basis, Basis::model);
  EXPECT_LT(change->to.high, 1);
  job.files[0].reason = "not a regular file";
  EXPECT_TRUE(changes_for(job, model::Machine()).empty());
}

TEST(AdviceTest, ALogInMemoryAndOneOfHugePages) {
  JobRecord job = quiet_job();
  job.write_seconds = 20;
  job.appended_bytes = 1e9;
  job.medium = "disk";
  const auto because = [&job] {
    const auto changes = changes_for(job, model::Machine());
    const Change* in_memory = find(changes, "a log in memory");
    return in_memory == nullptr ? std::string() : in_memory->because;
  };
  EXPECT_NE(because().find("does not survive a reboot"), std::string::npos) << because();
  job.syncs_log = true;
  EXPECT_NE(because().find("had to be synced"), std::string::npos) << because();
  job.medium = "tmpfs";
  job.touched_bytes = 40e9;
  EXPECT_EQ(find(changes_for(job, model::Machine()), "a log of huge pages"), nullptr);
  job.has_huge_pages = false;
  EXPECT_NE(find(changes_for(job, model::Machine()), "a log of huge pages"), nullptr);
}

TEST(AdviceTest, TheLargestGainIsFirstAndSmallOnesAreNotTold) {
  JobRecord job = quiet_job();
  job.sync_calls = 1000;
  job.sync_seconds = 8;
  job.files = {written(Way::log, 1e6, 8, 30)};
  job.write_seconds = 30;
  const auto changes = changes_for(job, model::Machine());
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].what, "one call for many");
  job.wall_seconds = 1e5;
  EXPECT_TRUE(changes_for(job, model::Machine()).empty());
}

}  // namespace
}  // namespace pmio
