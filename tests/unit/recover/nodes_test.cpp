// A file whose ranks were on two nodes, each with a log directory of its own: recovered in any order, at
// once, and with a kill at any step, it holds the bytes of the newest calls.
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "killed.h"
#include "nodes_fixture.h"

namespace pmio::test {
namespace {

TEST_P(RecoverNodes, InAnyOrder) {
  const auto all = random_calls(12);
  for (const uint32_t first : {0u, 1u}) {
    write_file(target, after(all, 3));
    for (const uint32_t node : {0u, 1u}) crash(node, all, 3);
    const FileOutcome one = recover_node(first);
    EXPECT_EQ(one.result, FileResult::restored);
    EXPECT_EQ(one.nodes, 2u);
    ASSERT_EQ(one.waits_for.size(), 1u);
    EXPECT_EQ(one.waits_for[0].node, 1 - first);
    EXPECT_FALSE(one.misses_ranks);
    EXPECT_TRUE(recover_node(1 - first).waits_for.empty());
    expect_recovered(after(all, 12));
  }
}

// The other node's log is lost: whoever asks is told, until somebody says so.
TEST_P(RecoverNodes, WithoutALogThatIsLost) {
  const auto all = random_calls(12);
  write_file(target, after(all, 3));
  crash(0, all, 3);
  EXPECT_FALSE(recover_node(0).waits_for.empty());
  const Bytes before = read_file(target);
  RecoverOptions options;
  options.directory = directories_[1];
  options.path = target;
  for (const bool lost : {false, true}) {
    options.lost_nodes = lost;
    auto report = recover(options);
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report->complete());
    EXPECT_EQ(report->complete_here(), !lost);
    ASSERT_EQ(report->unfinished.size(), 1u);
    const UnfinishedRecovery& other = report->unfinished[0];
    EXPECT_EQ(other.given_up, lost);
    EXPECT_EQ(other.job, kJob);
    EXPECT_EQ(other.base, 3u);
    ASSERT_EQ(other.waits_for.size(), 1u);
    EXPECT_EQ(other.waits_for[0].node, 1u);
    EXPECT_EQ(other.waits_for[0].members.host, "second");
    EXPECT_EQ(other.waits_for[0].members.ranks, (std::vector<uint32_t>{2, 3}));
  }
  auto report = recover(options);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->complete());
  expect_recovered(before);
}

// A node whose own log is kept still needs the journal.
TEST_P(RecoverNodes, NoneIsLostWhileALogIsKeptHere) {
  const auto all = random_calls(4);
  write_file(target, after(all, 2));
  for (const uint32_t node : {0u, 1u}) crash(node, all, 2);
  recover_node(1);
  RecoverOptions options;
  options.path = target;
  options.lost_nodes = true;
  options.consistent = true;  // refused
  options.directory = directories_[0];
  auto refused = recover(options);
  ASSERT_TRUE(refused.ok());
  EXPECT_TRUE(refused->unfinished.empty());
  EXPECT_FALSE(refused->complete_here());
  recover_node(0);
  expect_recovered(after(all, 4));
}

TEST_P(RecoverNodes, AtOnce) {
  const auto all = random_calls(12);
  write_file(target, {});
  for (const uint32_t node : {0u, 1u}) crash(node, all, 0);
  std::thread other([this] { recover_node(1); });
  recover_node(0);
  other.join();
  expect_recovered(after(all, 12));
}

// One of them had heard that the round is to be finished.
TEST_P(RecoverNodes, OfAHalfFinishedRound) {
  const auto all = random_calls(8);
  for (const uint32_t ahead : {0u, 1u}) {
    for (const uint32_t first : {0u, 1u}) {
      write_file(target, after(all, 5));
      crash(ahead, all, 5);
      crash(1 - ahead, all, 2);
      recover_node(first);
      recover_node(1 - first);
      expect_recovered(after(all, 8));
    }
  }
}

TEST_P(RecoverNodes, KilledAtAnyStep) {
  const auto all = random_calls(6);
  for (int steps = 0;; steps++) {
    write_file(target, after(all, 2));
    for (const uint32_t node : {0u, 1u}) crash(node, all, 2);
    const pid_t child = fork();
    if (child == 0) {
      int left = steps;
      RecoverOptions options;
      options.directory = directories_[0];
      options.progress = [&left](const RecoverProgress&) {
        if (left-- == 0) _exit(1);
      };
      (void)recover(options);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    recover_node(1);
    recover_node(0);
    expect_recovered(after(all, 6));
    if (status == 0) break;
  }
}

TEST_P(RecoverNodes, KilledBeforeAnyChange) {
  // Few and whole, for every system call is another round of this.
  std::vector<Written> all = random_calls(4);
  for (Written& one : all) {
    one.where = Vector{one.where.offset % 3000, 1000, 0, 1};
    one.data = random_bytes(random_, 1000);
  }
  Killed killed = Killed::yes;
  int change = 0;
  for (; killed == Killed::yes; change++) {
    for (const uint32_t first : {0u, 1u}) {
      write_file(target, after(all, 2));
      // Of a round that is finished on one node only.
      crash(0, all, 2);
      crash(1, all, GetParam() % 3);
      killed = recover_killed_before({.directory = directories_[0]}, change);
      if (killed == Killed::cannot_trace) GTEST_SKIP() << "ptrace is not allowed here";
      recover_killed_before({.directory = directories_[1]}, change);
      recover_node(first);
      recover_node(1 - first);
      expect_recovered(after(all, 4));
      ASSERT_FALSE(HasFailure()) << "killed before change " << change << ", then first node " << first;
    }
  }
  EXPECT_GT(change, 30);
}

TEST_P(RecoverNodes, WhereOneHasNothingToBringIn) {
  std::vector<Written> all = random_calls(6);
  std::erase_if(all, [](const Written& one) { return one.rank < 2 && one.call > 3; });
  for (const uint32_t first : {0u, 1u}) {
    write_file(target, after(all, 3));
    for (const uint32_t node : {0u, 1u}) crash(node, all, 3);
    recover_node(first);
    recover_node(1 - first);
    expect_recovered(after(all, 6));
  }
}

// Of a file that cannot be reached now: the others go on waiting for what it says.
TEST_P(RecoverNodes, WhereOneHasNothingToBringInAndCannotSaySo) {
  std::vector<Written> all = random_calls(6);
  std::erase_if(all, [](const Written& one) { return one.rank < 2; });
  // Another file system, "mounted" by a link.
  std::string there = "/tmp/pmio-recover-XXXXXX";
  ASSERT_NE(mkdtemp(there.data()), nullptr);
  const std::string mounted = root + "/data-place";
  std::filesystem::create_directory_symlink(there, mounted);
  target = mounted + "/data";
  write_file(target, {});
  for (const uint32_t node : {0u, 1u}) crash(node, all, 0);
  recover_node(1);
  std::filesystem::remove(mounted);
  struct stat here {};
  ASSERT_EQ(stat(root.c_str(), &here), 0);
  if (here.st_dev == identity(there).device) GTEST_SKIP() << "there is one file system only";
  auto refused = recover({.directory = directories_[0]});
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->jobs.at(0).files.at(0).result, FileResult::kept);
  EXPECT_FALSE(refused->complete_here());
  std::filesystem::create_directory_symlink(there, mounted);
  recover_node(0);
  EXPECT_TRUE(same(read_file(target), after(all, 6)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(there), {}), 1);
  std::filesystem::remove_all(there);
}

// Nobody waits for anything of a file that is gone.
TEST_P(RecoverNodes, WhereOneHasNothingToBringInToAFileThatIsGone) {
  if (GetParam() % 3 == 2) {
    std::filesystem::create_directory(root + "/data-place");
    target = root + "/data-place/data";
    write_file(target, {});
  }
  crash(0, {}, 0);
  if (GetParam() % 3 == 0) {
    std::filesystem::remove(target);
  } else if (GetParam() % 3 == 1) {
    std::filesystem::rename(target, root + "/data-moved");
    write_file(target, {});
  } else {
    std::filesystem::remove_all(root + "/data-place");  // as a whole directory of results
  }
  auto report = recover({.directory = directories_[0]});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->complete_here());
  EXPECT_TRUE(report->jobs.at(0).removed);
}

// No rank of the node has written anything; the others still have to be told how far it was.
TEST_P(RecoverNodes, WhatIsKeptWithoutASegmentStays) {
  std::vector<Written> all = random_calls(4);
  std::erase_if(all, [](const Written& one) { return one.rank < 2; });
  write_file(target, after(all, 2));
  for (const uint32_t node : {0u, 1u}) crash(node, all, 2);
  // In the place of the journal.
  const std::string in_the_way = Journal::path_of(target, {kJob}, identity(target).inode);
  std::filesystem::create_directory(in_the_way);
  auto refused = recover({.directory = directories_[0]});
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->jobs.at(0).files.at(0).result, FileResult::kept);
  EXPECT_FALSE(refused->jobs.at(0).removed);
  std::filesystem::remove(in_the_way);
  for (const uint32_t node : {0u, 1u}) recover_node(node);
  expect_recovered(after(all, 4));
}

// All have finished, and the last one could not remove the journal: nor can the next one.
TEST_P(RecoverNodes, AJournalThatCannotBeRemovedHoldsNobodyUp) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string place = root + "/place", path = place + "/journal";
  std::filesystem::create_directory(place);
  ASSERT_EQ(chown(root.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chown(place.c_str(), kNobody, kNobody), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    if (seteuid(kNobody) != 0) _exit(1);
    {
      auto journal = Journal::open(path, {0, 1, {0}, {}}, 0);
      if (!journal.ok() || chmod(place.c_str(), 0500) != 0) _exit(2);
      if ((**journal).finish(0).ok()) _exit(3);
    }
    _exit(Journal::open(path, {0, 1, {0}, {}}, std::nullopt).ok() ? 4 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(RecoverNodes, ConsistentIsRefused) {
  const auto all = random_calls(3);
  write_file(target, {});
  crash(0, all, 0);
  RecoverOptions options;
  options.directory = directories_[0];
  options.consistent = true;
  auto report = recover(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->jobs.at(0).files.at(0).result, FileResult::kept);
  EXPECT_TRUE(read_file(target).empty());
}

// Nothing of this node's log is undrained, but what it drained last is not in the file of all.
TEST_P(RecoverNodes, ConsistentIsRefusedWhereARoundIsHalfFinished) {
  const auto all = random_calls(3);
  write_file(target, after(all, 2));
  crash(0, all, 3);
  crash(1, all, 2);
  recover_node(1);
  const Bytes before = read_file(target);
  const auto consistent = [this] {
    auto report = recover({.directory = directories_[0], .consistent = true});
    EXPECT_TRUE(report.ok());
    return report->jobs.at(0).files.at(0);
  };
  EXPECT_EQ(consistent().result, FileResult::kept);
  EXPECT_TRUE(same(read_file(target), before));
  recover_node(0);
  expect_recovered(after(all, 3));
}

// The others wait for what this node says of a file that it has no segment of.
TEST_P(RecoverNodes, AnotherFileTakesNoNoteAway) {
  std::vector<Written> all = random_calls(4);
  std::erase_if(all, [](const Written& one) { return one.rank < 2; });
  write_file(target, after(all, 2));
  for (const uint32_t node : {0u, 1u}) crash(node, all, 2);
  const std::string other = root + "/logs-other-file";
  for (const bool pending : {true, false}) {
    write_file(other, {});
    CrashedJob(directories_[0], kJob, kRanks).write(0, 0, other, {0, 5, 0, 1}, Bytes(5, std::byte{8}), 1);
    if (pending) {
      EXPECT_TRUE(recover_pending(directories_[0], identity(other), other, 77).ok());
    } else {
      EXPECT_TRUE(recover({.directory = directories_[0], .path = other}).ok());
    }
    EXPECT_EQ(read_file(other), Bytes(5, std::byte{8}));
    EXPECT_EQ(scan(directories_[0])->size(), 1u);
  }
  for (const uint32_t node : {0u, 1u}) recover_node(node);
  expect_recovered(after(all, 4));
}

// What tells of other nodes are the note, as long as it is there, and the ledger.
TEST_P(RecoverNodes, WithoutItsNoteALogIsKept) {
  const auto all = random_calls(3);
  write_file(target, after(all, 2));
  crash(0, all, 2);
  const std::string job = directories_[0] + "/job-000000005eed0000/", key = file_key(identity(target));
  const auto expect_kept = [&] {
    auto report = recover({.directory = directories_[0]});
    ASSERT_TRUE(report.ok());
    const FileOutcome& file = report->jobs.at(0).files.at(0);
    EXPECT_EQ(file.result, FileResult::kept);
    EXPECT_NE(file.message.find("several nodes"), std::string::npos) << file.message;
    EXPECT_TRUE(same(read_file(target), after(all, 2)));
  };
  std::filesystem::rename(job + "nodes-" + key, root + "/logs-note");
  expect_kept();
  std::filesystem::rename(job + "ledger-" + key, root + "/logs-ledger");
  std::ofstream(job + "nodes-" + key) << "damaged";
  expect_kept();
  std::filesystem::rename(root + "/logs-note", job + "nodes-" + key);
  std::filesystem::rename(root + "/logs-ledger", job + "ledger-" + key);
  crash(1, all, 2);
  for (const uint32_t node : {0u, 1u}) recover_node(node);
  expect_recovered(after(all, 3));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RecoverNodes, testing::Range(0, 8));

}  // namespace
}  // namespace pmio::test
