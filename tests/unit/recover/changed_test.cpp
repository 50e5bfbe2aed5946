// A file that somebody changed after its job had died is not written over, and nobody who did not is accused.
#include <sys/wait.h>

#include "fixture.h"
#include "log/target_mark.h"

namespace pmio::test {
namespace {

class Changed : public RecoverTest {
 protected:
  // A job with a record of `value` that is not in the file, and a mark of the file as it is now.
  void job(uint64_t id, std::byte value, bool writing = false) {
    CrashedJob crashed(logs, id, 1);
    crashed.write(0, 0, target, {0, 4, 0, 1}, Bytes(4, value), id);
    auto mark = TargetMark::create(*crashed.medium, "mark-" + file_key(identity(target)));
    ASSERT_TRUE(mark.ok());
    auto file = TargetFile::open(target, TargetFile::Access::read_only);
    auto state = file.value()->state();
    mark->settled(*state);
    if (!writing) return;
    ASSERT_TRUE(mark->writing().ok());
  }
  FileOutcome only_outcome(RecoverOptions options = {}) {
    const RecoverReport report = run(std::move(options));
    EXPECT_EQ(report.jobs.size(), 1u);
    return report.jobs.at(0).files.at(0);
  }
  const Bytes others_{std::byte{9}, std::byte{9}};
};

TEST_F(Changed, UntouchedIsRestored) {
  job(1, std::byte{1});
  EXPECT_EQ(only_outcome().result, FileResult::restored);
  EXPECT_TRUE(left().empty());
}

TEST_F(Changed, KeptUntilForced) {
  job(1, std::byte{1});
  write_file(target, others_);
  RecoverOptions dry;
  dry.dry_run = true;
  EXPECT_EQ(only_outcome(dry).result, FileResult::kept);
  const FileOutcome kept = only_outcome();
  EXPECT_EQ(kept.result, FileResult::kept);
  EXPECT_NE(kept.message.find("--force"), std::string::npos) << kept.message;
  EXPECT_EQ(read_file(target), others_);
  RecoverOptions force;
  force.force = true;
  EXPECT_EQ(only_outcome(force).result, FileResult::restored);
  EXPECT_EQ(read_file(target), Bytes(4, std::byte{1}));
}

TEST_F(Changed, AJobThatWasWritingAccusesNobody) {
  job(1, std::byte{1}, true);
  write_file(target, others_);
  EXPECT_EQ(only_outcome().result, FileResult::restored);
}

TEST_F(Changed, ReplayOfOneJobIsNoChangeForTheNext) {
  job(1, std::byte{1});
  job(2, std::byte{2});
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), Bytes(4, std::byte{2}));
}

TEST_F(Changed, AnInterruptedRecoveryIsNoChange) {
  job(1, std::byte{1});
  job(2, std::byte{2});
  const pid_t child = fork();
  if (child == 0) {
    RecoverOptions options;
    options.progress = [](const RecoverProgress& progress) {
      if (progress.step == RecoverStep::marked) _exit(0);
    };
    run(options);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), Bytes(4, std::byte{2}));
}

TEST(TargetMark, WhatItTells) {
  char pattern[] = "/dev/shm/pmio-mark-XXXXXX";
  const std::string directory = mkdtemp(pattern);
  auto medium = open_medium(directory, Durability::none);
  auto mark = TargetMark::create(**medium, "mark");
  ASSERT_TRUE(mark.ok());
  EXPECT_TRUE(mark->blank());
  const auto changed = [&](uint64_t size, uint64_t time, const BootId& boot) {
    const Bytes bytes = read_file(directory + "/mark");
    return changed_since(bytes, {size, time}, boot);
  };
  EXPECT_FALSE(changed(1, 1, this_boot()));
  mark->settled({100, 5000});
  EXPECT_FALSE(mark->blank());
  EXPECT_FALSE(changed(100, 5000, this_boot()));
  EXPECT_TRUE(changed(101, 5000, this_boot()));
  EXPECT_TRUE(changed(100, 4000, this_boot()));
  BootId other = this_boot();
  other[0] ^= std::byte{1};
  EXPECT_FALSE(changed(100, 4000, other));  // what the crash of the node lost
  EXPECT_FALSE(changed(50, 5000, other));
  EXPECT_TRUE(changed(100, 6000, other));
  const auto matches = [&] { return matches_ledger(read_file(directory + "/mark")); };
  EXPECT_TRUE(matches());
  ASSERT_TRUE(mark->writing().ok());
  EXPECT_FALSE(changed(7, 7, this_boot()));
  EXPECT_FALSE(matches());
  mark->settled({100, 5000}, true);
  EXPECT_TRUE(changed(101, 5000, this_boot()));
  EXPECT_FALSE(matches());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace pmio::test
