// A file of several nodes that somebody has changed long after its job was last seen is not written over;
// what the nodes' recoveries change is no such change, in whatever order and however often they are
// interrupted.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "log/last_seen.h"
#include "nodes_fixture.h"

namespace pmio::test {
namespace {

constexpr uint64_t kLongNs = 2 * kSeenMarginNs;

class NodesChanged : public RecoverNodes {
 protected:
  void SetUp() override {
    RecoverNodes::SetUp();
    all = random_calls(6);
    write_file(target, after(all, 2));
    for (const uint32_t node : {0u, 1u}) crash(node, all, 2);
  }
  std::string job(uint32_t node) const {
    return directories_[node] + "/job-000000005eed000" + std::to_string(node);
  }
  // The node's processes last said at that time that they live.
  void seen(uint32_t node, uint64_t when_ns) {
    const LastSeen stored = last_seen(when_ns);
    std::ofstream(job(node) + "/alive")
        .write(reinterpret_cast<const char*>(stored.data()), sizeof stored)
        .flush();
  }
  static void changed(const std::string& path, uint64_t when_ns) {
    const timespec when{static_cast<time_t>(when_ns / kSecondNs), static_cast<long>(when_ns % kSecondNs)};
    const timespec times[] = {when, when};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::string journal() const { return Journal::path_of(target, {kJob}, identity(target).inode); }
  FileOutcome try_node(uint32_t node, bool force = false) {
    auto report = recover({.directory = directories_[node], .path = target, .force = force});
    EXPECT_TRUE(report.ok());
    return report->jobs.at(0).files.at(0);
  }
  // The job died long ago, and the file is as it left it.
  void die_long_ago() {
    for (const uint32_t node : {0u, 1u}) seen(node, now_ - kLongNs);
    changed(target, now_ - kLongNs);
  }
  const uint64_t now_ = realtime_ns();
  std::vector<Written> all;
};

TEST_P(NodesChanged, IsKeptUntilForced) {
  die_long_ago();
  changed(target, now_);
  const Bytes before = read_file(target);
  for (const uint32_t node : {0u, 1u}) {
    const FileOutcome kept = try_node(node);
    EXPECT_EQ(kept.result, FileResult::kept);
    EXPECT_NE(kept.message.find("--force"), std::string::npos) << kept.message;
    const Status pending = recover_pending(directories_[node], identity(target), target, 77);
    EXPECT_EQ(pending.code(), Code::busy) << pending.message();
  }
  EXPECT_TRUE(same(read_file(target), before));
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node, true).result, FileResult::restored);
  expect_recovered(after(all, 6));
}

TEST_P(NodesChanged, AJobThatHasJustBeenSeenAccusesNobody) {
  for (const uint32_t node : {0u, 1u}) seen(node, now_ - kSeenMarginNs / 2);
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node).result, FileResult::restored);
  expect_recovered(after(all, 6));
}

TEST_P(NodesChanged, WhatAnotherNodesRecoveryWritesIsNoChange) {
  for (const uint32_t first : {0u, 1u}) {
    die_long_ago();
    EXPECT_EQ(try_node(first).result, FileResult::restored);
    EXPECT_EQ(try_node(1 - first).result, FileResult::restored);
    expect_recovered(after(all, 6));
    write_file(target, after(all, 2));
    for (const uint32_t node : {0u, 1u}) crash(node, all, 2);
  }
}

TEST_P(NodesChanged, WhatComesLongAfterAnotherNodesRecoveryIsOne) {
  die_long_ago();
  EXPECT_EQ(try_node(0).result, FileResult::restored);
  changed(journal(), now_ - kLongNs);
  changed(target, now_);
  EXPECT_EQ(try_node(1).result, FileResult::kept);
  EXPECT_EQ(try_node(1, true).result, FileResult::restored);
  expect_recovered(after(all, 6));
}

// Without the journal, in case it was interrupted before there was one.
TEST_P(NodesChanged, AnInterruptedRecoveryIsNoChange) {
  die_long_ago();
  const pid_t child = fork();
  if (child == 0) {
    RecoverOptions options{.directory = directories_[0]};
    options.progress = [](const RecoverProgress& progress) {
      if (progress.step == RecoverStep::synced) _exit(0);
    };
    (void)recover(options);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_GT(TargetFile::open(target, TargetFile::Access::read_only).value()->state()->mtime_ns,
            now_ - kSeenMarginNs);
  std::filesystem::remove(journal());
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node).result, FileResult::restored) << node;
  expect_recovered(after(all, 6));
}

// What a recovery has not written it does not take for its own.
TEST_P(NodesChanged, ARecoveryThatCannotLookExcusesNoChange) {
  die_long_ago();
  changed(target, now_);
  const std::string away = root + "/data-away";
  std::filesystem::rename(target, away);
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node).result, FileResult::kept);
  std::filesystem::rename(away, target);
  for (const uint32_t node : {0u, 1u}) {
    EXPECT_EQ(try_node(node).result, FileResult::kept);
    EXPECT_FALSE(std::filesystem::exists(job(node) + "/seen-" + file_key(identity(target))));
  }
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node, true).result, FileResult::restored);
  expect_recovered(after(all, 6));
}

TEST_P(NodesChanged, ANodeThatHasNothingToBringInExcusesNoChange) {
  std::erase_if(all, [](const Written& one) { return one.rank < 2; });
  for (const bool begun : {false, true}) {
    SCOPED_TRACE(begun);
    for (const std::string& directory : directories_) std::filesystem::remove_all(directory);
    write_file(target, {});
    for (const uint32_t node : {0u, 1u}) crash(node, all, 0);
    die_long_ago();
    if (begun) {  // by the other node, whose recovery was killed, as long ago
      ASSERT_TRUE(Journal::open(journal(), {1, 2, {2, 3}, {}}, 0).ok());
      changed(journal(), now_ - kLongNs);
    }
    changed(target, now_);
    EXPECT_EQ(try_node(0).result, FileResult::clean);
    EXPECT_EQ(try_node(1).result, FileResult::kept);
    EXPECT_TRUE(read_file(target).empty());
    EXPECT_EQ(try_node(1, true).result, FileResult::restored);
    expect_recovered(after(all, 6));
  }
}

// Another job's log of the same file is brought in before, by another node.
TEST_P(NodesChanged, WhatIsBroughtInOfAnotherJobIsNoChange) {
  die_long_ago();
  const NodePlace place{0, 2, {0, 1}, {}};
  ASSERT_TRUE(
      Journal::open(Journal::path_of(target, {kJob + 0x10000}, identity(target).inode), place, 0).ok());
  changed(target, now_);
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node).result, FileResult::restored);
  std::filesystem::remove(Journal::path_of(target, {kJob + 0x10000}, identity(target).inode));
  expect_recovered(after(all, 6));
}

// As on a full medium, which a recovery is to make room on.
TEST_P(NodesChanged, ATimeThatCannotBeNotedKeepsNothing) {
  die_long_ago();
  for (const uint32_t node : {0u, 1u}) {
    const std::string in_the_way = job(node) + "/seen-" + file_key(identity(target));
    std::filesystem::create_directory(in_the_way);
    EXPECT_EQ(try_node(node).result, FileResult::restored);
    std::filesystem::remove(in_the_way);
    ASSERT_TRUE(recover({.directory = directories_[node]}).ok());
  }
  expect_recovered(after(all, 6));
}

// What cannot be read as a time says nothing.
TEST_P(NodesChanged, ATornTimeAccusesNobody) {
  for (const uint32_t node : {0u, 1u}) {
    seen(node, now_ - kLongNs);
    std::filesystem::resize_file(job(node) + "/alive", 20);
  }
  for (const uint32_t node : {0u, 1u}) EXPECT_EQ(try_node(node).result, FileResult::restored);
  expect_recovered(after(all, 6));
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodesChanged, testing::Range(0, 2));

}  // namespace
}  // namespace pmio::test
