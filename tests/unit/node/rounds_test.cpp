// Rounds and what comes in between: a leader that dies while who helped it still writes, and writes during a
// merge. No round may bring back what another one has overwritten.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <functional>
#include <string_view>
#include <thread>

#include "support/node_fixture.h"
#include "support/system_calls.h"

namespace {

// What the processes tell each other.
struct Stage {
  std::atomic<int> ready{0};
  std::atomic<bool> leader_writes{false}, helper_writes{false}, overwritten{false}, helper_may_go_on{false};
};
Stage* stage = nullptr;

enum class Write { goes_on, never_ends, waits };
thread_local Write this_threads_write = Write::goes_on;

void await(const std::atomic<bool>& flag) {
  while (!flag) usleep(1000);
}

std::function<void()> at_next_segment;  // what happens while a segment is mapped for the first time

// How a merge finds its segments.
int open_segment(int directory, const char* path, int flags, mode_t mode) {
  if (at_next_segment && std::string_view(path) == "seg-0-0") std::exchange(at_next_segment, nullptr)();
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

// How the target is written.
ssize_t write_as_told(int fd, const void* data, size_t length, off_t offset) {
  switch (this_threads_write) {
    case Write::never_ends:
      stage->leader_writes = true;
      for (;;) pause();
    case Write::waits:
      stage->helper_writes = true;
      await(stage->helper_may_go_on);
      break;
    case Write::goes_on:
      break;
  }
  return syscall(SYS_pwrite64, fd, data, length, offset);
}

}  // namespace

namespace pmio {
namespace {

constexpr uint64_t kWindow = 4 << 20;  // that one thread writes at a time

struct Process {
  std::unique_ptr<Job> job;
  std::shared_ptr<File> file;
  Process(const Scratch& scratch, const std::string& path, uint32_t rank)
      : job(join(scratch, rank, 2, 64 << 20, false)), file(*job->open({path, false, {}})) {
    stage->ready++;
    while (stage->ready < 2) usleep(1000);
  }
};

// Two windows of 'a'; dies in the middle of its round.
void lead(const Scratch& scratch, const std::string& path) {
  Process self(scratch, path, 0);
  const std::vector<std::byte> old(2 * kWindow, std::byte{'a'});
  if (!self.file->append(0, old.data(), old.size(), 1).ok()) _exit(1);
  this_threads_write = Write::never_ends;
  static_cast<void>(self.file->drain());
  _exit(1);
}

// One thread helps with the leader's round; the other one has newer bytes, and drains when the leader is
// dead.
int help_and_take_over(const Scratch& scratch, const std::string& path, pid_t leader) {
  Process self(scratch, path, 1);
  await(stage->leader_writes);
  Status helped;
  std::thread helper([&self, &helped] {
    this_threads_write = Write::waits;
    helped = self.file->drain();
  });
  await(stage->helper_writes);
  const std::vector<std::byte> later(2 * kWindow, std::byte{'b'});
  bool good = self.file->append(0, later.data(), later.size(), 2).ok();
  stage->overwritten = true;
  while (kill(leader, 0) == 0) usleep(1000);
  std::thread patience([] {
    usleep(300'000);  // in which a round that does not wait would be over
    stage->helper_may_go_on = true;
  });
  good = good && self.file->drain().ok();
  patience.join();
  helper.join();
  return good && helped.ok() ? 0 : 1;
}

TEST(NodeRounds, WhoHelpedADeadLeaderBringsNoOldBytesBack) {
  const test::StandIn writes({.pwrite = write_as_told});
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  void* shared = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  stage = new (shared) Stage;
  const pid_t leader = fork();
  if (leader == 0) lead(scratch, path);
  const pid_t helper = fork();
  if (helper == 0) _exit(help_and_take_over(scratch, path, leader));
  await(stage->overwritten);
  kill(leader, SIGKILL);
  int status = 0;
  waitpid(leader, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  waitpid(helper, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto bytes = contents(path);
  ASSERT_EQ(bytes.size(), 2 * kWindow);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{'b'}), static_cast<ptrdiff_t>(bytes.size()));
  munmap(shared, sizeof(Stage));
}

// Who writes the file by a handle that is handed on may be doing so in a gap.
TEST(NodeRounds, NoGapIsWrittenAgainOnceSomebodyWritesPastTheLog) {
  for (const bool past_the_log : {false, true}) {
    const Scratch scratch;
    const std::string path = scratch.files_ + "/target";
    std::ofstream(path) << std::string(300'000, 'x');
    auto ranks = open_all(scratch, path, 1, 8 << 20);
    File& file = *ranks[0].file;
    if (past_the_log) {
      ASSERT_TRUE(file.drain(DrainScope::for_library_write).ok());
    }
    const std::vector<std::byte> data(10, static_cast<std::byte>('y'));
    for (uint64_t i = 0; i < 2'000; i++)
      ASSERT_TRUE(file.append(i * 100, data.data(), data.size(), CallNumber(0, 1, false)).ok());
    ASSERT_TRUE(file.drain().ok());
    EXPECT_EQ(file.target().counters().read_bytes == 0, past_the_log);
    const auto bytes = contents(path);
    ASSERT_EQ(bytes.size(), 300'000u);
    for (size_t i = 0; i < bytes.size(); i++)
      EXPECT_EQ(bytes[i], static_cast<std::byte>(i < 200'000 && i % 100 < 10 ? 'y' : 'x')) << i;
  }
}

// A merge goes from rank to rank: one that it has passed writes, another one overwrites that before it comes
// there.
TEST(NodeRounds, WhatWasOverwrittenDuringAMergeDoesNotComeBack) {
  const test::StandIn opens({.openat = open_segment});
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  auto ranks = open_all(scratch, path, 2, 4 << 20);
  const std::byte before{'-'}, old{'a'}, later{'b'};
  ASSERT_TRUE(ranks[0].file->append(1, &before, 1, 0).ok());
  at_next_segment = [&] {
    std::thread writers([&] {
      EXPECT_TRUE(ranks[0].file->append(0, &old, 1, 0).ok());
      EXPECT_TRUE(ranks[1].file->append(0, &later, 1, 0).ok());
    });
    writers.join();
  };
  ASSERT_TRUE(ranks[1].file->drain().ok());
  EXPECT_EQ(at_next_segment, nullptr);
  ASSERT_TRUE(ranks[1].file->drain().ok());
  EXPECT_EQ(contents(path), (std::vector<std::byte>{later, before}));
  close_all(ranks);
}

}  // namespace
}  // namespace pmio
