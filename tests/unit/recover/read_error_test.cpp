// What cannot be read now is not taken for the end of what there is.
#include <dirent.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "nodes_fixture.h"
#include "support/system_calls.h"

// How many reads and directory entries succeed before one does not; negative:
// all.
static std::atomic<int> good_reads{-1}, good_entries{-1};
static std::atomic<bool> has_failed{false};

static bool fails(std::atomic<int>& good) {
  if (good < 0) return false;
  if (good > 0) {
    good--;
    return false;
  }
  has_failed = true;
  errno = EIO;
  return true;
}

static ssize_t read_or_fail(int fd, void* data, size_t length, off_t offset) {
  return fails(good_reads) ? -1 : syscall(SYS_pread64, fd, data, length, offset);
}

static dirent* next_or_fail(DIR* directory) {
  return fails(good_entries) ? nullptr : pmio::test::real_readdir(directory);
}

namespace pmio::test {
namespace {

class ReadError : public RecoverNodes {
 protected:
  void TearDown() override {
    good_reads = good_entries = -1;
    RecoverNodes::TearDown();
  }
  const StandIn stand_in_{{.pread = read_or_fail, .readdir = next_or_fail}};
};

TEST_P(ReadError, OfTheJournalTakesNobodysClaimsAway) {
  const auto all = random_calls(8);
  for (int good = 0;; good++) {
    write_file(target, after(all, 3));
    for (const uint32_t node : {0u, 1u}) crash(node, all, 3);
    recover_node(1);
    const Bytes before = read_file(target);
    good_reads = good;
    auto report = recover({.directory = directories_[0]});
    const bool failed = has_failed.exchange(false);
    good_reads = -1;
    ASSERT_TRUE(report.ok());
    if (failed) {
      EXPECT_EQ(report->jobs.at(0).files.at(0).result, FileResult::kept) << good;
      EXPECT_TRUE(same(read_file(target), before)) << good;
      recover_node(0);
    }
    expect_recovered(after(all, 8));
    if (!failed) break;
    ASSERT_LT(good, 100);
  }
}

TEST_P(ReadError, OfADirectoryTakesNoLedgerAway) {
  const auto all = random_calls(3);
  // Their ledger says that all of it is in the file, where somebody has written something else since.
  for (int good = 0;; good++) {
    write_file(target, Bytes(10, std::byte{7}));
    {
      CrashedJob job(directories_[0], kJob, 1);
      job.write(0, 0, target, {0, 10, 0, 1}, Bytes(10, std::byte{1}), 1);
      job.ledger(target, {{{0, 0}, 1}});
    }
    good_entries = good;
    auto report = recover({.directory = directories_[0]});
    const bool failed = has_failed.exchange(false);
    good_entries = -1;
    EXPECT_EQ(read_file(target), Bytes(10, std::byte{7})) << good;
    if (!failed) break;
    ASSERT_LT(good, 100);
    EXPECT_TRUE(recover({.directory = directories_[0]})->complete());
    EXPECT_EQ(read_file(target), Bytes(10, std::byte{7})) << good;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReadError, testing::Range(0, 2));

}  // namespace
}  // namespace pmio::test
