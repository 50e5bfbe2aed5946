// Files that are complete later than their close (Closing::begin_lag), and what becomes of them meanwhile.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file_descriptor.h"
#include "node/file_parts.h"
#include "node/job_impl.h"
#include "support/node_fixture.h"
#include "support/recover_all.h"
#include "support/said.h"
#include "support/target_writes.h"

namespace pmio {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kBytes = 100'000;  // of each rank

std::vector<std::byte> all(char value) {
  return std::vector<std::byte>(kRanks * kBytes, static_cast<std::byte>(value));
}

class Lagging : public testing::Test {
 protected:
  using Files = std::vector<std::shared_ptr<File>>;

  Lagging() {
    setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1);
    for (uint32_t rank = 0; rank < kRanks; rank++) jobs.push_back(join_as(rank));
  }
  std::unique_ptr<Job> join_as(uint32_t rank) {
    JobOptions options;
    options.directory = scratch.log_;
    options.id = std::hash<std::string>()(scratch.log_);
    options.rank = rank;
    options.ranks = kRanks;
    options.capacity_bytes = 4 << 20;
    options.max_age_ns = 0;
    options.files_lagging = &lagging;
    options.files_handed_on = &handed_on;
    options.logs_in_use = &logs_in_use;
    options.say = said.listener();
    auto job = Job::join(options);
    EXPECT_TRUE(job.ok()) << job.status().message();
    return std::move(job).value();
  }

  std::string path_of(const std::string& name) const { return scratch.files_ + "/" + name; }
  Files open(const std::string& name, const DirectFrom& direct_from = {}) {
    std::ofstream(path_of(name), std::ios::app).flush();
    Files files;
    for (const auto& job : jobs) {
      Job::OpenOptions how;
      how.path = path_of(name);
      how.direct_from = direct_from;
      auto file = job->open(how);
      EXPECT_TRUE(file.ok()) << file.status().message();
      files.push_back(*file);
    }
    return files;
  }
  static void write(const Files& files, char value, uint64_t offset = 0) {
    const std::vector<std::byte> bytes(kBytes, static_cast<std::byte>(value));
    for (uint64_t rank = 0; rank < kRanks; rank++)
      EXPECT_TRUE(files[rank]->append(offset + rank * kBytes, bytes.data(), kBytes, 0).ok());
  }
  static void close_later(const Files& files) {
    for (const auto& file : files) EXPECT_TRUE(file->closing().begin_lag());
    for (const auto& file : files) file->closing().release_later();
  }
  void write_and_close(const std::string& name, char value) {
    const Files files = open(name);
    write(files, value);
    close_later(files);
  }
  static void close(const Files& files) {
    for (const auto& file : files) EXPECT_TRUE(file->closing().release().ok());
  }
  void await_none_lags() const {
    while (lagging != 0) usleep(1000);
  }
  void await_said(const std::string& text) const {
    while (!said.has(text)) usleep(1000);
  }

  Scratch scratch;
  std::atomic<uint64_t> lagging{0}, handed_on{0}, logs_in_use{0};
  test::Said said;
  std::vector<std::unique_ptr<Job>> jobs;
};

TEST_F(Lagging, TheCloseDoesNotWaitAndTheFileIsCompleteSoon) {
  {
    const test::HangingWrites hang;
    write_and_close("data", 'a');
    EXPECT_TRUE(contents(path_of("data")).empty());
    EXPECT_EQ(lagging, kRanks);
  }
  await_none_lags();
  EXPECT_EQ(contents(path_of("data")), all('a'));
  // A moment after it has ceased to lag.
  while (logs_in_use != 0) usleep(1000);
}

TEST_F(Lagging, TheEndOfTheJobCompletesIt) {
  write_and_close("data", 'a');
  jobs.clear();
  EXPECT_EQ(contents(path_of("data")), all('a'));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.log_));
}

TEST_F(Lagging, OpenedAgainItIsReadAtOnceAndCompleteWhenAskedFor) {
  auto hang = std::make_unique<test::HangingWrites>();
  write_and_close("data", 'a');
  const Files files = open("data");
  EXPECT_EQ(lagging, 0u);
  std::vector<std::byte> found(kRanks * kBytes);
  uint64_t got = 0;
  EXPECT_TRUE(files[0]->read(0, found.data(), found.size(), &got).ok());
  EXPECT_EQ(found, all('a'));
  hang.reset();
  EXPECT_TRUE(files[1]->closing().complete().ok());
  EXPECT_EQ(contents(path_of("data")), all('a'));
  write(files, 'b');
  close(files);
  EXPECT_EQ(contents(path_of("data")), all('b'));
}

TEST_F(Lagging, ARankThatNeverHadItOpenCompletesIt) {
  auto one = jobs[0]->open({(std::ofstream(path_of("data")).flush(), path_of("data")), false, {}});
  ASSERT_TRUE(one.ok());
  const std::vector<std::byte> bytes = all('a');
  EXPECT_TRUE((*one)->append(0, bytes.data(), bytes.size(), 0).ok());
  const test::HangingWrites* hang = new test::HangingWrites;
  EXPECT_TRUE((*one)->closing().begin_lag());
  (*one)->closing().release_later();
  auto found = jobs[1]->find((*one)->identity(), path_of("data"));
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_TRUE((*found)->closing().lags());
  delete hang;
  EXPECT_TRUE((*found)->closing().complete().ok());
  EXPECT_EQ(contents(path_of("data")), all('a'));
}

TEST_F(Lagging, WhatOthersWroteSinceIsSeenWhenItIsOpenedAgain) {
  write_and_close("data", 'a');
  // As if the other rank's thread were slower: this one's file is complete, and kept.
  const Files files = open("data");
  EXPECT_TRUE(files[0]->closing().complete().ok());
  const std::vector<std::byte> theirs = all('z');
  std::ofstream(path_of("data"), std::ios::binary)
      .write(reinterpret_cast<const char*>(theirs.data()), static_cast<std::streamsize>(theirs.size()));
  for (const auto& file : files) EXPECT_TRUE(file->closing().complete().ok());
  std::vector<std::byte> found(theirs.size());
  uint64_t got = 0;
  EXPECT_TRUE(files[1]->read(0, found.data(), found.size(), &got).ok());
  EXPECT_EQ(found, theirs);
  close(files);
}

TEST_F(Lagging, RenamedAndReplacedEachFileGetsItsOwn) {
  {
    const test::HangingWrites hang;
    write_and_close("data", 'a');
    std::filesystem::rename(path_of("data"), path_of("older"));
    write_and_close("data", 'b');
  }
  await_none_lags();
  EXPECT_EQ(contents(path_of("older")), all('a'));
  EXPECT_EQ(contents(path_of("data")), all('b'));
}

class Deleted : public Lagging {
 protected:
  // Size of a file that was deleted before its drain could begin, once nothing lags.
  off_t size_of_deleted() {
    FileDescriptor kept;
    {
      const test::HangingWrites hang;
      write_and_close("first", 'a');
      write_and_close("second", 'b');
      kept = FileDescriptor(::open(path_of("second").c_str(), O_RDONLY | O_CLOEXEC));
      std::filesystem::remove(path_of("second"));
      write_and_close("second", 'c');
    }
    await_none_lags();
    EXPECT_EQ(contents(path_of("first")), all('a'));
    EXPECT_EQ(contents(path_of("second")), all('c'));
    return lseek(kept.get(), 0, SEEK_END);
  }
};

TEST_F(Deleted, IsDiscarded) { EXPECT_EQ(size_of_deleted(), 0); }

TEST_F(Deleted, IsDrainedIfAHandleThatDoesNotLogMayHaveItOpen) {
  handed_on = 1;
  EXPECT_EQ(size_of_deleted(), static_cast<off_t>(kRanks * kBytes));
}

TEST_F(Lagging, AFailureIsSaidAndTriedAgain) {
  {
    const test::FailingWrites full(ENOSPC);
    write_and_close("data", 'a');
    await_said("No space left on device, after its close");
    EXPECT_TRUE(said.has(scratch.log_));
    EXPECT_EQ(lagging, kRanks);
  }
  await_none_lags();
  EXPECT_EQ(contents(path_of("data")), all('a'));
}

TEST_F(Lagging, AFailureIsToldByTheNextCallsOnTheFile) {
  const test::FailingWrites full(ENOSPC);
  write_and_close("data", 'a');
  await_said("No space left on device, after its close");
  const Files files = open("data");
  EXPECT_EQ(files[0]->closing().complete().code(), Code::no_space);
  EXPECT_EQ(files[0]->errors().take().code(), Code::no_space);
  EXPECT_FALSE(files[0]->closing().begin_lag());
  std::vector<std::byte> found(kRanks * kBytes);
  uint64_t got = 0;
  EXPECT_TRUE(files[1]->read(0, found.data(), found.size(), &got).ok());
  EXPECT_EQ(found, all('a'));
  for (const auto& file : files) EXPECT_FALSE(file->closing().release().ok());
}

TEST_F(Lagging, WhatTheEndOfTheJobCannotDrainIsRecovered) {
  {
    const test::FailingWrites full(ENOSPC);
    write_and_close("data", 'a');
    jobs.clear();
    EXPECT_TRUE(said.has("then run 'pmio recover'"));
  }
  recover_all(scratch);
  EXPECT_EQ(contents(path_of("data")), all('a'));
  EXPECT_EQ(lagging, 0u);
}

TEST_F(Lagging, OnlySoManyLagAndTheOldestIsCompletedFirst) {
  constexpr int kFiles = 20;
  for (int i = 0; i < kFiles; i++) {
    write_and_close("data" + std::to_string(i), 'a');
    EXPECT_LE(lagging, 8 * kRanks);
  }
  jobs.clear();
  for (int i = 0; i < kFiles; i++) EXPECT_EQ(contents(path_of("data" + std::to_string(i))), all('a'));
}

TEST_F(Lagging, AFullLogIsEmptiedOfThem) {
  constexpr int kFiles = 3;
  constexpr uint64_t kRounds = 15;  // 1.5 MB of each rank's 4 MiB
  for (int i = 0; i < kFiles; i++) {
    const Files files = open("data" + std::to_string(i));
    for (uint64_t round = 0; round < kRounds; round++) write(files, 'a', round * kRanks * kBytes);
    close_later(files);
  }
  jobs.clear();
  for (int i = 0; i < kFiles; i++) {
    const auto found = contents(path_of("data" + std::to_string(i)));
    EXPECT_EQ(found, std::vector<std::byte>(kRounds * kRanks * kBytes, std::byte{'a'}));
  }
}

TEST_F(Lagging, OneThatSomeHandleHasOpenGoesOnWithIt) {
  const Files files = open("data"), more = open("data");
  write(files, 'a');
  close_later(files);
  EXPECT_EQ(lagging, 0u);
  write(more, 'b');
  close(more);
  EXPECT_EQ(contents(path_of("data")), all('b'));
}

// What went straight to the file because the log was cold finds it warm the next time.
TEST_F(Lagging, TheLogIsWarmForTheNextFileOfLargePieces) {
  constexpr DirectFrom kIfCold{UINT64_MAX, 32 << 10};
  if (jobs[0]->medium().huge_page_bytes() != 0) GTEST_SKIP() << "a log of huge pages is never cold";
  const Files first = open("first", kIfCold);
  write(first, 'a');
  for (const auto& job : jobs) EXPECT_EQ(job->counters().direct_bytes, kBytes);
  close_later(first);
  for (const auto& file : first)
    while (file->parts().shared.job->member->pool().warm_bytes() < kBytes) usleep(1000);
  const Files second = open("second", kIfCold);
  write(second, 'b');
  for (const auto& job : jobs) EXPECT_EQ(job->counters().direct_bytes, kBytes);
  close_later(second);
  await_none_lags();
  EXPECT_EQ(contents(path_of("first")), all('a'));
  EXPECT_EQ(contents(path_of("second")), all('b'));
}

TEST_F(Lagging, WithoutAThreadTheCloseDrains) {
  JobOptions options;
  options.directory = scratch.log_;
  options.id = 1;
  options.background = false;
  auto job = Job::join(options);
  ASSERT_TRUE(job.ok());
  std::ofstream(path_of("data")).flush();
  auto file = (*job)->open({path_of("data"), false, {}});
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->closing().begin_lag());
  EXPECT_TRUE((*file)->closing().release().ok());
}

}  // namespace
}  // namespace pmio
