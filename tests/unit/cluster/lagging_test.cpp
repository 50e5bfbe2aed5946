// Files of several nodes that are complete later than their close (Closing::begin_lag).
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "nodes_fixture.h"

namespace pmio::test {
namespace {

constexpr uint64_t kFileBytes = 3 * kWindowBytes / 2;

// No round gets on until it is let go; then each fails with `error`, if it is one, as long as this object
// lives.
class StoppedSyncs {
 public:
  explicit StoppedSyncs(int error = 0) {
    hang_ = true;
    error_ = error;
  }
  ~StoppedSyncs() { let_go(); }
  void let_go() { hang_ = false; }

 private:
  static int fdatasync(int fd) {
    constexpr useconds_t kPoll = 1000;
    while (hang_) usleep(kPoll);
    errno = error_;
    return errno != 0 ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd));
  }
  static inline std::atomic<bool> hang_{false};
  static inline std::atomic<int> error_{0};
  const StandIn stand_in_{{.fdatasync = fdatasync}};
};

class ClusterLagTest : public ClusterTest {
 protected:
  ClusterLagTest() { background_ = true; }

  // As src/mpi/close.cpp does it.
  void close_later() {
    for (Member& member : members_) ASSERT_TRUE(member.file->closing().begin_lag());
    for (Member& member : members_) {
      member.file->closing().release_later();
      member.file.reset();
    }
  }
  bool some_lag() const {
    return std::any_of(members_.begin(), members_.end(),
                       [](const Member& member) { return member.job->has_lagging_files(); });
  }
  void await_none_lags() const {
    while (some_lag()) usleep(1000);
  }
  // As src/mpi/open.cpp does it, before the library's open.
  void complete_on(uint32_t rank) {
    auto file = members_[rank].job->find(identity_of(path_).value(), path_);
    ASSERT_TRUE(file.ok());
    if (*file == nullptr) return;
    ASSERT_TRUE((*file)->closing().complete().ok());
  }
};

TEST_F(ClusterLagTest, TheCloseDoesNotWaitAndTheFileIsCompleteSoon) {
  {
    const StoppedSyncs hang;
    write_all(1, kFileBytes);
    close_later();
    for (const Member& member : members_) EXPECT_TRUE(member.job->has_lagging_files());
  }
  await_none_lags();
  expect_file();
}

// All nodes take part in the round, whoever has written.
TEST_F(ClusterLagTest, ANodeThatHasWrittenNothingDoesNotLetGoOfItBefore) {
  for (uint64_t call = 1; call <= 3; call++) {
    for (Member& member : members_) Spanning::of(*member.file).begin_call();
    const auto data = random_bytes(random_, 10'000);
    const uint32_t writer = kRanks - 1;
    const auto number = static_cast<uint32_t>(call);
    ASSERT_TRUE(members_[writer].file->append(call * 777, data.data(), data.size(), {0, number, false}).ok());
    oracle_.write(call * 777, data.data(), data.size());
    for (Member& member : members_) Spanning::of(*member.file).end_call();
  }
  close_later();
  await_none_lags();
  expect_file();
}

TEST_F(ClusterLagTest, TheNextOpenCompletesItWhoeverOpensFirst) {
  for (uint64_t round = 0; round < 6; round++) {
    write_all(1, kFileBytes);
    close_later();
    complete_on(static_cast<uint32_t>(round % kRanks));
    expect_file();
    for (uint32_t rank = 0; rank < kRanks; rank++) complete_on(rank);
    open_all_again();
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  }
}

TEST_F(ClusterLagTest, TheEndOfTheJobCompletesIt) {
  auto hang = std::make_unique<StoppedSyncs>();
  write_all(1, kFileBytes);
  close_later();
  hang.reset();
  for (Member& member : members_) member.job->stop_background();
  for (Member& member : members_) member.job->complete_lagging_files();
  for (Member& member : members_) member.cluster.reset();
  expect_file();
  members_.clear();
  for (const Scratch& log : logs_) EXPECT_TRUE(std::filesystem::is_empty(log.log_));
}

TEST_F(ClusterLagTest, AtTheEndOfTheJobAFailureKeepsTheLog) {
  // A file whose drain has failed before is not closed that way.
  StoppedSyncs stopped(EIO);
  write_all(1, kFileBytes);
  close_later();
  stopped.let_go();
  for (Member& member : members_) member.job->stop_background();
  for (Member& member : members_) member.job->complete_lagging_files();
  for (Member& member : members_) member.cluster.reset();
  members_.clear();
  for (const Scratch& log : logs_) EXPECT_FALSE(std::filesystem::is_empty(log.log_));
}

}  // namespace
}  // namespace pmio::test
