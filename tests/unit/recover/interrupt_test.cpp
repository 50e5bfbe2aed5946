// kill -9 at every step of a recovery, and then another one; recoveries at the same time.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "drain/run.h"
#include "fixture.h"
#include "killed.h"

namespace pmio::test {
namespace {

// Recovers in a child that is killed at its n-th step. False: it came to its end before.
bool recover_killed_at(const std::string& logs, int n) {
  const pid_t child = fork();
  if (child == 0) {
    int steps = 0;
    RecoverOptions options;
    options.directory = logs;
    options.progress = [&](const RecoverProgress&) {
      if (++steps == n) raise(SIGKILL);
    };
    _exit(recover(options).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

// Two jobs, three ranks, overlaps between all of them, three windows. Returns what the file must become.
Bytes crash_twice(const std::string& logs, const std::string& target, uint64_t writes = 60,
                  uint64_t most_blocks = 9) {
  std::mt19937_64 random(42);
  Oracle oracle;
  for (uint64_t id = 1; id <= 2; id++) {
    CrashedJob job(logs, id, 3);
    for (uint64_t i = 0; i < writes; i++) {
      const auto rank = static_cast<uint32_t>(i % 3);
      const Vector where{static_cast<int64_t>(random() % (3 * kWindowBytes - 600'000)), 512, 70'000,
                         1 + random() % most_blocks};
      const Bytes data = random_bytes(random, where.bytes());
      job.write(rank, 0, target, where, data, i + 1);
      oracle.write(where, data);
    }
  }
  return oracle.bytes;
}

TEST_F(RecoverTest, MayBeKilledAtAnyStepAndRepeated) {
  bool killed = true;
  int step = 1;
  for (; killed; step++) {
    write_file(target, {});
    const Bytes wanted = crash_twice(logs, target);
    killed = recover_killed_at(logs, step);
    EXPECT_TRUE(run().complete()) << step;
    ASSERT_TRUE(same(read_file(target), wanted)) << "killed at step " << step;
    ASSERT_TRUE(left().empty()) << "killed at step " << step;
  }
  EXPECT_GE(step, 2 * (3 + 2 + 4));  // per job: windows, sync and mark, removals
}

// What a recovery would bring in.
uint64_t records_left(const RecoverReport& report) {
  uint64_t records = 0;
  for (const JobOutcome& job : report.jobs)
    for (const FileOutcome& file : job.files) records += file.records;
  return records;
}

// Twice, so that the second one finds what the first one has left, and leaves something of its own.
TEST_F(RecoverTest, MayBeKilledBeforeAnyChangeAndRepeated) {
  Killed killed = Killed::yes;
  uint64_t least_left = UINT64_MAX;
  int change = 0;
  for (; killed == Killed::yes; change++) {
    write_file(target, {});
    const Bytes wanted = crash_twice(logs, target, 4, 1);
    killed = recover_killed_before({.directory = logs}, change);
    if (killed == Killed::cannot_trace) GTEST_SKIP() << "ptrace is not allowed here";
    // What is marked at some change is so at all later ones: somebody may have written over it since.
    RecoverOptions look;
    look.dry_run = true;
    const uint64_t now_left = records_left(run(look));
    ASSERT_LE(now_left, least_left) << "killed before change " << change;
    least_left = now_left;
    recover_killed_before({.directory = logs}, change);
    EXPECT_TRUE(run().complete()) << change;
    ASSERT_TRUE(same(read_file(target), wanted)) << "killed before change " << change;
    ASSERT_TRUE(left().empty()) << "killed before change " << change;
    struct stat before, after;
    ASSERT_EQ(stat(target.c_str(), &before), 0);
    EXPECT_TRUE(run().complete()) << change;
    ASSERT_EQ(stat(target.c_str(), &after), 0);
    EXPECT_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  }
  EXPECT_GT(change, 30);
}

TEST_F(RecoverTest, KilledAgainAndAgain) {
  const Bytes wanted = crash_twice(logs, target);
  for (int step = 1; recover_killed_at(logs, step); step++) {
  }
  EXPECT_TRUE(same(read_file(target), wanted));
  EXPECT_TRUE(left().empty());
}

// Between the mark and the removal the file is complete, so somebody may write it; that must not be undone.
TEST_F(RecoverTest, WhatIsMarkedIsNeverReplayedAgain) {
  const Bytes wanted = crash_twice(logs, target);
  // Both jobs' marks are steps "window"... "synced", "marked": find them by counting in a copy of the run.
  int steps = 0, second_mark = 0, marks = 0;
  RecoverOptions count;
  count.progress = [&](const RecoverProgress& progress) {
    steps++;
    if (progress.step == RecoverStep::marked && ++marks == 2) second_mark = steps;
  };
  run(count);
  ASSERT_EQ(marks, 2);
  for (int step = second_mark; step < steps; step++) {
    write_file(target, {});
    crash_twice(logs, target);
    ASSERT_TRUE(recover_killed_at(logs, step));
    ASSERT_TRUE(same(read_file(target), wanted));
    const Bytes newer(100, std::byte{0x77});
    write_file(target, newer);
    EXPECT_TRUE(run().complete());
    ASSERT_EQ(read_file(target), newer) << "killed at step " << step;
    ASSERT_TRUE(left().empty());
  }
}

TEST_F(RecoverTest, ASecondRecoveryTouchesNothing) {
  crash_twice(logs, target);
  run();
  struct stat before, after;
  ASSERT_EQ(stat(target.c_str(), &before), 0);
  usleep(20'000);
  const RecoverReport report = run();
  ASSERT_EQ(stat(target.c_str(), &after), 0);
  EXPECT_TRUE(report.complete());
  EXPECT_TRUE(report.jobs.empty());
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
}

TEST_F(RecoverTest, ADryRunChangesNothing) {
  crash_twice(logs, target);
  const auto before = left();
  RecoverOptions options;
  options.dry_run = true;
  const RecoverReport report = run(options);
  EXPECT_EQ(report.jobs.size(), 2u);
  EXPECT_EQ(report.jobs[0].files.at(0).result, FileResult::restored);
  EXPECT_EQ(report.jobs[0].files.at(0).records, 60u);
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_EQ(left(), before);
}

TEST_F(RecoverTest, SeveralProcessesAtOnce) {
  const Bytes wanted = crash_twice(logs, target);
  std::vector<pid_t> children;
  for (int i = 0; i < 6; i++) {
    const pid_t child = fork();
    if (child == 0) {
      const auto who = identity_of(target);
      // Half of them as the runtime does it. Whoever returns must find the file complete.
      const bool ok = i % 2 == 0 ? recover_pending(logs, who.value(), target, 99).ok()
                                 : recover({.directory = logs}).ok();
      _exit(ok && same(read_file(target), wanted) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(left().empty());
}

TEST_F(RecoverTest, PendingBringsInOneFileOfDeadJobs) {
  const std::string other = root + "/other";
  write_file(other, {});
  const Bytes data(10, std::byte{1});
  {
    CrashedJob job(logs, 1, 1);
    job.write(0, 0, target, {0, 10, 0, 1}, data, 1);
    job.write(0, 1, other, {0, 10, 0, 1}, data, 2);
  }
  EXPECT_TRUE(recover_pending(root + "/none", identity(target), target, 5).ok());
  EXPECT_TRUE(recover_pending(logs, identity(target), target, 1).ok());  // its own job
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_TRUE(recover_pending(logs, identity(target), target, 5).ok());
  EXPECT_EQ(read_file(target), data);
  EXPECT_TRUE(read_file(other).empty());
  // Renamed since: the caller knows the new path.
  const std::string moved = root + "/moved";
  std::filesystem::rename(other, moved);
  EXPECT_TRUE(recover_pending(logs, identity(moved), moved, 5).ok());
  EXPECT_EQ(read_file(moved), data);
  EXPECT_TRUE(left().empty());
}

TEST_F(RecoverTest, PendingLeavesARunningJobAlone) {
  CrashedJob job(logs, 1, 1);
  job.write(0, 0, target, {0, 10, 0, 1}, Bytes(10), 1);
  const int alive = open((job.directory + "/alive").c_str(), O_RDONLY);
  ASSERT_EQ(flock(alive, LOCK_SH), 0);
  EXPECT_TRUE(recover_pending(logs, identity(target), target, 5).ok());
  EXPECT_TRUE(read_file(target).empty());
  close(alive);
}

}  // namespace
}  // namespace pmio::test
