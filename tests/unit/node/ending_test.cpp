// A process that ends without leaving its job: what it brings into the file, what it leaves, and what it
// says.
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/forked.h"
#include "recover/recover.h"
#include "support/node_fixture.h"
#include "support/target_writes.h"

namespace pmio {
namespace {

constexpr uint64_t kCapacity = 1 << 20;

void append(File& file, uint64_t at, const std::string& text) {
  const Status status = file.append(at, reinterpret_cast<const std::byte*>(text.data()), text.size(), 0);
  EXPECT_TRUE(status.ok()) << status.message();
}

std::string text_of(const std::string& path) {
  const auto bytes = contents(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

size_t jobs_in(const std::string& logs) {
  size_t jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(logs))
    jobs += entry.path().filename().string().starts_with("job-") ? 1 : 0;
  return jobs;
}

struct Ending : testing::TestWithParam<bool> {
  Scratch scratch;
  std::string path = scratch.files_ + "/file";
  Ending() { std::ofstream(path).flush(); }
};

// The last rank takes the directory with it.
TEST_P(Ending, BringsInWhatAllRanksHaveLogged) {
  auto ranks = open_all(scratch, path, 2, kCapacity, GetParam());
  append(*ranks[0].file, 0, "aaaa");
  append(*ranks[1].file, 4, "bbbb");
  ranks[0].job->end();
  EXPECT_EQ(text_of(path), "aaaabbbb");
  EXPECT_EQ(jobs_in(scratch.log_), 1u);
  ranks[1].job->end();
  EXPECT_EQ(jobs_in(scratch.log_), 0u);
}

// Who comes first waits for the others, for a little while. The last one waits for nobody.
TEST_P(Ending, AllLeaveTogether) {
  constexpr uint64_t kALittleWhileNs = 100'000'000;
  auto ranks = open_all(scratch, path, 2, kCapacity, GetParam());
  for (const Rank& rank : ranks) append(*rank.file, 0, "aaaa");
  ranks[0].job->end();
  uint64_t begin = monotonic_ns();
  ranks[0].job->await_others_end();
  EXPECT_GE(monotonic_ns() - begin, kALittleWhileNs);
  std::atomic<bool> last_ends{false};
  std::thread last([&] {
    last_ends = true;
    ranks[1].job->end();
  });
  while (!last_ends) std::this_thread::yield();
  begin = monotonic_ns();
  ranks[0].job->await_others_end();
  EXPECT_TRUE(jobs_in(scratch.log_) == 0 || monotonic_ns() - begin >= kALittleWhileNs);
  last.join();
  ranks[1].job->await_others_end();
}

// By a destructor that comes later, or where it did not end after all.
TEST_P(Ending, WhatIsWrittenLaterGoesToTheFileBehindTheLog) {
  auto ranks = open_all(scratch, path, 2, kCapacity, GetParam());
  append(*ranks[0].file, 0, "aaaa");
  ranks[0].job->end();
  append(*ranks[1].file, 2, "bbbb");
  append(*ranks[0].file, 3, "cc");
  EXPECT_EQ(text_of(path), "aabccb");
  std::byte got[6];
  uint64_t bytes = 0;
  for (const Rank& rank : ranks) {
    ASSERT_TRUE(rank.file->read(0, got, sizeof got, &bytes).ok());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(got), bytes), "aabccb");
  }
  append(*ranks[1].file, 5, "d");
  ranks[0].job->go_on();
  close_all(ranks);
  EXPECT_EQ(text_of(path), "aabccd");
  EXPECT_EQ(jobs_in(scratch.log_), 0u);
}

TEST_P(Ending, DoesNotWaitForAFileSystemThatHangs) {
  auto ranks = open_all(scratch, path, 1, kCapacity, GetParam());
  testing::internal::CaptureStderr();
  {
    const test::HangingWrites writes;
    append(*ranks[0].file, 0, "aaaa");
    ranks[0].job->end();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(ranks[0].job->directory()), std::string::npos) << said;
    EXPECT_NE(said.find("pmio recover"), std::string::npos) << said;
  }
  ranks[0].job->end();  // which has begun, and comes to its end now
  close_all(ranks);
  EXPECT_EQ(text_of(path), "aaaa");
}

TEST_P(Ending, SaysWhatItCouldNotWrite) {
  auto ranks = open_all(scratch, path, 2, kCapacity, false);
  append(*ranks[0].file, 0, "aaaa");
  append(*ranks[1].file, 4, "bb");
  testing::internal::CaptureStderr();
  {
    const test::FailingWrites writes(ENOSPC);
    for (const Rank& rank : ranks) rank.job->end();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("6 bytes of " + path), std::string::npos) << said;
  EXPECT_EQ(said.find("pmio:"), said.rfind("pmio:")) << said;
  close_all(ranks);
}

INSTANTIATE_TEST_SUITE_P(Background, Ending, testing::Bool());

// A process that the dead have forked does not keep the job alive.
TEST(Forked, DoesNotKeepTheJobAlive) {
  const Scratch scratch;
  const std::string path = scratch.files_ + "/file";
  std::ofstream(path).flush();
  int ends[2], started[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(pipe(started), 0);
  const pid_t victim = fork();
  if (victim == 0) {
    watch_forks([] {});
    auto ranks = open_all(scratch, path, 1, kCapacity);
    append(*ranks[0].file, 0, "aaaa");
    const pid_t heir = fork();
    if (heir == 0) {
      close(ends[1]);
      char none = 0;
      if (write(started[1], &none, 1) != 1) _exit(1);
      _exit(static_cast<int>(read(ends[0], &none, 1)));
    }
    char none = 0;  // the handlers of fork have run
    if (read(started[0], &none, 1) != 1) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(victim, &status, 0), victim);
  ASSERT_TRUE(WIFSIGNALED(status));
  RecoverOptions options;
  options.directory = scratch.log_;
  const auto report = recover(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(text_of(path), "aaaa");
  close(ends[0]);
  close(ends[1]);  // ends the heir
  for (const int fd : started) close(fd);
}

// A program that never pauses: what it has written comes into the file all the same.
TEST(Age, WhatIsOldIsDrainedWhileTheProgramGoesOnWriting) {
  const Scratch scratch;
  const std::string path = scratch.files_ + "/file";
  std::ofstream(path).flush();
  JobOptions options;
  options.directory = scratch.log_;
  options.id = 7;
  options.capacity_bytes = 16 << 20;
  options.max_age_ns = 50'000'000;
  auto job = Job::join(options);
  ASSERT_TRUE(job.ok());
  Job::OpenOptions how;
  how.path = path;
  auto file = (*job)->open(how);
  ASSERT_TRUE(file.ok());
  const uint64_t patience = monotonic_ns() + 20'000'000'000;
  uint64_t written = 0;
  while (std::filesystem::file_size(path) == 0 && monotonic_ns() < patience) {
    append(**file, written++, "x");
    usleep(1000);
  }
  EXPECT_GT(std::filesystem::file_size(path), 0u);
  ASSERT_TRUE((*file)->closing().release().ok());
  EXPECT_EQ(std::filesystem::file_size(path), written);
  file->reset();
}

}  // namespace
}  // namespace pmio
