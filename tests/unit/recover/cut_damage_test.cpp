// The consistent cut of logs that are damaged.
#include "cut_fixture.h"

namespace pmio::test {
namespace {

TEST_F(CutTest, SaysWhereTheLogOfDrainedBytesIsDamaged) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    write(job, 0, 0, 2, collective(2));
    write(job, 1, 0, 1, collective(1));
    write_file(target, with({0, 2}));
    job.ledger(target, {{{0, 0}, 2}});
    Region& region = *job.segment(0, 0, target).region;
    region.data()[region.size_bytes() - 2 * sizeof(LogRecord)] ^= std::byte{1};
    settle(job);
  }
  EXPECT_EQ(recover_cut().cut.untold, std::set<uint32_t>{0});
  EXPECT_FALSE(report.complete());
}

TEST_F(CutTest, BehindDamageNothingIsComplete) {
  {
    CrashedJob job(logs, 1, 1);
    declare(job, 0, 0, 1);
    for (const uint32_t call : {1u, 2u, 3u}) write(job, 0, 0, call, collective(call));
    declare(job, 0, 1, 1, 3);
    write(job, 0, 1, 4, collective(4));
    std::byte* data = job.segment(0, 0, target).region->data();
    data[kHeaderBytes + 16] ^= std::byte{1};  // of call 2
    settle(job);
  }
  EXPECT_EQ(recover_cut().cut.complete_call(), 1u);
  EXPECT_EQ(read_file(target), with({1}));
}

// The part of call 2 that the second segment held is not there, though its last part is.
TEST_F(CutTest, BehindAnUnreadableSegmentNothingIsComplete) {
  {
    CrashedJob job(logs, 1, 1);
    declare(job, 0, 0, 1);
    write(job, 0, 0, 1, collective(1));
    declare(job, 0, 1, 1, 1);
    write(job, 0, 1, 2, collective(2), false);
    declare(job, 0, 2, 1, 1, true);
    write(job, 0, 2, 3, collective(2));
    job.segment(0, 1, target).region->data()[200] ^= std::byte{1};
    settle(job);
  }
  EXPECT_EQ(recover_cut().cut.complete_call(), 1u);
  EXPECT_EQ(read_file(target), with({1}));
}

// The same where nothing before the part that is left tells that a call was ever begun.
TEST_F(CutTest, BehindALostFirstSegmentNothingIsComplete) {
  for (const bool gone : {false, true}) {
    SCOPED_TRACE(gone);
    write_file(target, {});
    {
      CrashedJob job(logs, 1, 1);
      declare(job, 0, 0, 1);
      write(job, 0, 0, 1, collective(1));
      declare(job, 0, 1, 1, 1);
      write(job, 0, 1, 2, collective(2));
      job.ledger(target, {{{0, 0}, 0}, {{0, 1}, 0}});
      job.segment(0, 0, target).region->data()[200] ^= std::byte{1};
      settle(job);
      if (gone) std::filesystem::remove(job.directory + "/seg-0-0");
    }
    const FileOutcome outcome = recover_cut();
    EXPECT_EQ(outcome.result, FileResult::cut);
    EXPECT_EQ(outcome.cut.complete_call(), 0u);
    EXPECT_EQ(outcome.cut.untold, std::set<uint32_t>{0});
    EXPECT_FALSE(report.complete());
    EXPECT_TRUE(read_file(target).empty());
    std::filesystem::remove_all(logs);
  }
}

// An open of which only what comes behind the damage tells: its calls are no more complete than the others.
TEST_F(CutTest, BehindDamageNothingOfALaterOpenIsComplete) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    for (const uint32_t call : {1u, 2u}) write(job, 0, 0, call, collective(call));
    write(job, 1, 0, 3, collective(1));
    OpenEntry later{};
    later.open = 9;
    later.ranks = 2;
    job.segment(0, 1, target).writer.set_open(0, later);
    write(job, 0, 1, 4, collective(1));  // rank 1 has not come to it
    write(job, 0, 1, 5, collective(2));
    job.segment(0, 0, target).region->data()[kHeaderBytes + 16] ^= std::byte{1};
    ASSERT_TRUE(job.segment(0, 0, target).writer.seal().ok());
    settle(job);
  }
  const FileOutcome outcome = recover_cut();
  ASSERT_EQ(outcome.cut.opens.size(), 2u);
  EXPECT_EQ(outcome.cut.opens[0].complete, 1u);
  EXPECT_EQ(outcome.cut.opens[1].complete, 0u);
  EXPECT_EQ(read_file(target), with({1, 3}));
}

// Of which open its calls are nothing tells any more, so none of them is known to be complete.
TEST_F(CutTest, CallsOfAnOpenWhoseEntryIsDamagedAreNotComplete) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    write(job, 0, 0, 2, collective(2));
    write(job, 1, 0, 1, collective(1));
    declare(job, 0, 1, 2, 2);
    write(job, 0, 1, 4, collective(3));
    std::byte* table = job.segment(0, 0, target).region->data() + kOpenTableAt;
    table[sizeof(OpenEntry) + 40] ^= std::byte{1};  // of the copy that was written
    settle(job);
  }
  auto jobs = scan(logs);
  ASSERT_TRUE(jobs.ok());
  FileInfo& file = jobs->at(0).files.at(0);
  for (const uint32_t rank : {0u, 1u}) file.control_opens.push_back({rank, 7, 2, rank, 1, false});
  EXPECT_FALSE(find_cut(file, {.world = 2, .with_segments = {0, 1}}).reached());
  const FileOutcome outcome = recover_cut();
  ASSERT_EQ(outcome.cut.opens.size(), 2u);
  for (const OpenCut& open : outcome.cut.opens) EXPECT_EQ(open.complete, 0u) << open.open;
  EXPECT_FALSE(report.complete());
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), with({0, 1, 2, 4}));
}

}  // namespace
}  // namespace pmio::test
