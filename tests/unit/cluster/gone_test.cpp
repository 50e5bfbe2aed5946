// Several nodes in one process: what becomes of the others, and of what is in the logs, where one is gone or
// does not finish a round.
#include <atomic>

#include "medium/job_name.h"
#include "nodes_fixture.h"
#include "recover/recover.h"
#include "span/spanning.h"
#include "support/wrapped_medium.h"

namespace pmio::test {
namespace {

// A region that cannot be synced, while that is so.
class UnsyncedRegion : public WrappedRegion {
 public:
  static inline std::atomic<bool> fails{false};
  using WrappedRegion::WrappedRegion;
  Status sync() override { return fails ? Status(Code::io, "cannot sync", EIO) : real().sync(); }
};

// Of the second node the ledgers are such regions.
class LedgersFail : public WrappedMedium {
 public:
  using WrappedMedium::WrappedMedium;
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    return wrapped(name, real().create(name, size_bytes, lasting));
  }
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    return wrapped(name, real().open(name, read_only));
  }

 private:
  Result<std::unique_ptr<Region>> wrapped(std::string_view name, Result<std::unique_ptr<Region>> region) {
    const bool fails = name.starts_with("ledger-") && directory().ends_with(job_name(kJob | 1));
    if (!region.ok() || !fails) return region;
    return std::unique_ptr<Region>(new UnsyncedRegion(std::move(region).value()));
  }
};

// A node that is gone: an error that names it, for whoever needs it; the log is kept.
class GoneNode : public ClusterTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(GoneNode, IsAnErrorAndTheLogsAreRecovered) {
  for (uint64_t call = 1; call <= 3; call++) write_all(call, 50'000);
  ASSERT_TRUE(drain(0).ok());
  for (uint64_t call = 4; call <= 9; call++) write_all(call, 50'000);
  const uint32_t gone = GetParam();
  members_[gone * kRanksOfNode].cluster->stop();
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    if (rank / kRanksOfNode == gone) continue;
    const Status status = drain(rank);
    EXPECT_EQ(status.code(), Code::io);
    EXPECT_NE(status.message().find("127.0.0.1"), std::string::npos) << status.message();
    std::byte one;
    uint64_t got = 0;
    EXPECT_FALSE(members_[rank].file->read(0, &one, 1, &got).ok());
    EXPECT_FALSE(members_[rank].file->closing().release().ok());
  }
  for (const uint32_t rank : ranks_of(gone)) EXPECT_FALSE(members_[rank].file->closing().release().ok());
  TearDown();
  for (uint32_t node = 0; node < kNodes; node++) {
    RecoverOptions options;
    options.directory = logs_[node].log_;
    auto report = recover(options);
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->jobs.size(), 1u);
    ASSERT_EQ(report->jobs[0].files.size(), 1u);
    const FileOutcome& outcome = report->jobs[0].files[0];
    EXPECT_EQ(outcome.message, "");
    ASSERT_EQ(outcome.waits_for.size(), kNodes - 1 - node);
    for (uint32_t i = 0; i < outcome.waits_for.size(); i++)
      EXPECT_EQ(outcome.waits_for[i].members.host, "host" + std::to_string(node + 1 + i));
    EXPECT_EQ(report->complete(), node == kNodes - 1);
    EXPECT_TRUE(report->complete_here());
  }
  expect_file();
}

INSTANTIATE_TEST_SUITE_P(CoordinatorOrNot, GoneNode, testing::Values(0u, 1u));

// A round that the second node alone cannot finish; the node that is recovered first.
class HalfFinished : public ClusterTest, public testing::WithParamInterface<uint32_t> {
 protected:
  HalfFinished() { open_log_ = open_wrapped<LedgersFail>(); }
  void TearDown() override {
    UnsyncedRegion::fails = false;
    ClusterTest::TearDown();
  }
  void write_by(uint32_t writer, uint32_t call, uint64_t offset, char value) {
    const std::vector<std::byte> data(100, static_cast<std::byte>(value));
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      File& file = *members_[rank].file;
      Spanning::of(file).begin_call();
      if (rank == writer) {
        ASSERT_TRUE(file.append(offset, data.data(), data.size(), CallNumber(0, call, false)).ok());
      }
      Spanning::of(file).end_call();
    }
    oracle_.write(offset, data.data(), data.size());
  }
  void expect_no_close() {
    for (Member& member : members_) EXPECT_EQ(member.file->closing().release().code(), Code::io);
  }
};

TEST_P(HalfFinished, KeepsItsNewerBytesWhenTheFileIsOpenedAgain) {
  write_by(kRanksOfNode, 1, 0, 'b');
  write_by(0, 2, 0, 'a');
  UnsyncedRegion::fails = true;
  EXPECT_EQ(drain(0).code(), Code::io);
  UnsyncedRegion::fails = false;
  expect_no_close();
  for (uint32_t call = 3; call < 5; call++) {
    open_all_again();
    for (uint32_t rank = 0; rank < kRanks; rank++) EXPECT_EQ(drain(rank).code(), Code::io);
    EXPECT_EQ(contents(path_), std::vector<std::byte>(100, std::byte{'a'}));
    write_by(kRanks - 1, call, 50 * call, 'c');
    expect_no_close();
  }
  TearDown();
  for (uint32_t i = 0; i < kNodes; i++) {
    RecoverOptions options;
    options.directory = logs_[(GetParam() + i) % kNodes].log_;
    auto report = recover(options);
    ASSERT_TRUE(report.ok() && report->jobs.size() == 1);
    EXPECT_TRUE(report->complete_here());
  }
  expect_file();
}

INSTANTIATE_TEST_SUITE_P(RecoveredFirst, HalfFinished, testing::Range(0u, kNodes));

}  // namespace
}  // namespace pmio::test
