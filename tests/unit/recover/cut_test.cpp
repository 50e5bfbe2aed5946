// The consistent cut, on small logs made by hand.
#include "cut_fixture.h"

namespace pmio::test {
namespace {

TEST_F(CutTest, LeavesOutWhatComesAfterTheLastCompleteCall) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    write(job, 1, 0, 1, collective(1));
    write(job, 0, 0, 2, independent_after(1));  // before call 2
    write(job, 0, 0, 3, collective(2));
    write(job, 1, 0, 4, collective(2));
    write(job, 0, 0, 5, independent_after(2));  // behind it
    write(job, 0, 0, 6, collective(3));
    write(job, 1, 0, 7, collective(3), false);  // begun, not finished
    settle(job);
  }
  const FileOutcome outcome = recover_cut();
  EXPECT_EQ(outcome.result, FileResult::cut);
  EXPECT_EQ(outcome.cut.complete_call(), 2u);
  EXPECT_EQ(outcome.cut.opens.at(0).open, 7u);
  EXPECT_EQ(outcome.cut.opens.at(0).latest, 3u);
  EXPECT_EQ(outcome.cut.left_records, 3u);
  EXPECT_TRUE(outcome.cut.reached());
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(read_file(target), with({0, 1, 2, 3, 4}));
  EXPECT_EQ(recover_cut().cut.left_records, 3u);  // as often as one likes
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), with({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(left().empty());
}

// Older than what the cut keeps, and behind the cut: the recovery of the rest must not bring it over that.
TEST_F(CutTest, TheRestComesInInItsOrder) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    const Bytes early(kPiece, std::byte{100}), late(kPiece, std::byte{200});
    const Vector where{50, kPiece, 0, 1};
    job.segment(0, 0, target).writer.append(where, early.data(), 10, independent_after(1), true);
    ASSERT_TRUE(job.segment(0, 0, target).writer.fence().ok());
    job.segment(1, 0, target).writer.append(where, late.data(), 20, collective(1), true);
    ASSERT_TRUE(job.segment(1, 0, target).writer.fence().ok());
    settle(job);
  }
  EXPECT_EQ(recover_cut().cut.complete_call(), 1u);
  EXPECT_EQ(read_file(target).at(50), std::byte{200});
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target).at(50), std::byte{200});
}

TEST_F(CutTest, KnowsOfCallsWithoutData) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    for (const uint32_t call : {1u, 2u, 3u}) write(job, 0, 0, call, collective(call));
    job.segment(1, 0, target).writer.advance_open(0, 1);
    job.segment(1, 0, target).writer.advance_open(0, 2);
    ASSERT_TRUE(job.segment(1, 0, target).writer.fence().ok());
    settle(job);
  }
  EXPECT_EQ(recover_cut().cut.complete_call(), 2u);
  EXPECT_EQ(read_file(target), with({1, 2}));
}

TEST_F(CutTest, ListsLaterBytesThatWereDrained) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    for (const int64_t place : {3, 2, 5}) write(job, 0, 0, place, collective(2));
    write(job, 1, 0, 1, collective(1));
    write_file(target, with({0, 2, 3, 5}));
    job.ledger(target, {{{0, 0}, 4}});
    settle(job);
  }
  const FileOutcome outcome = recover_cut();
  EXPECT_EQ(outcome.cut.complete_call(), 1u);
  EXPECT_EQ(outcome.cut.in_file, (std::vector<Vector>{{20, 2 * kPiece, 0, 1}, {50, kPiece, 0, 1}}));
  EXPECT_TRUE(outcome.cut.perhaps_in_file.empty());
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(read_file(target), with({0, 1, 2, 3, 5}));
}

// A recovery of everything brought bytes in, and could not say so.
TEST_F(CutTest, ListsBytesOfARecoveryThatFailed) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    write(job, 1, 0, 1, collective(1));
    write(job, 1, 0, 2, collective(2));
    settle(job);
  }
  RecoverOptions failing;
  bool replayed = false;
  failing.progress = [&](const RecoverProgress& now) { replayed = now.step == RecoverStep::synced; };
  failing.open_log = [&](const std::string& directory, Durability durability) {
    if (!std::exchange(replayed, false)) return open_medium(directory, durability);
    return Result<std::unique_ptr<Medium>>(Status(Code::io, "no medium", EIO));
  };
  EXPECT_FALSE(run(failing).complete());
  EXPECT_EQ(read_file(target), with({0, 1, 2}));
  for (int i = 0; i < 2; i++)
    EXPECT_EQ(recover_cut().cut.perhaps_in_file, (std::vector<Vector>{{20, kPiece, 0, 1}}));
  write_file(target, with({0}));  // and a change by others is still one
  EXPECT_EQ(recover_cut().result, FileResult::kept);
}

TEST_F(CutTest, ListsBytesOfADrainThatWasUnderWay) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    write(job, 1, 0, 1, collective(1));
    write(job, 1, 0, 2, collective(2));
  }
  for (int i = 0; i < 2; i++)
    EXPECT_EQ(recover_cut().cut.perhaps_in_file, (std::vector<Vector>{{20, kPiece, 0, 1}}));
}

// The space of the first calls was used again.
TEST_F(CutTest, SaysWhereNothingTellsWhatWasDrained) {
  {
    CrashedJob job(logs, 1, 2);
    declare(job, 0, 0, 2);
    declare(job, 1, 0, 2, 4);
    write(job, 0, 0, 0, collective(2));
    write(job, 1, 0, 1, collective(5));
    settle(job);
  }
  const FileOutcome outcome = recover_cut();
  EXPECT_EQ(outcome.cut.complete_call(), 2u);
  EXPECT_EQ(outcome.cut.untold, std::set<uint32_t>{1});
  EXPECT_FALSE(report.complete());
}

TEST_F(CutTest, AnOpenThatIsClosedHasNone) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    job.segment(0, 0, target).writer.close_open(0, 7);
    settle(job);
  }
  EXPECT_EQ(recover_cut().result, FileResult::restored);
  EXPECT_EQ(read_file(target), with({0}));
}

TEST_F(CutTest, ListsRanksWithoutALog) {
  {
    CrashedJob job(logs, 1, 3);
    declare(job, 0, 0, 3);
    write(job, 0, 0, 0, collective(1));
    auto spare = job.medium->create("seg-2-0", kMinSegmentBytes);  // rank 2 has one, of no file
    ASSERT_TRUE(spare.ok());
    settle(job);
  }
  const FileOutcome outcome = recover_cut();
  const auto& missing = outcome.cut.opens.at(0).missing;
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].rank, 1u);
  EXPECT_EQ(missing[0].reason, MissingRank::Reason::no_files);
  EXPECT_EQ(missing[1].rank, 2u);
  EXPECT_EQ(missing[1].reason, MissingRank::Reason::unknown);
  EXPECT_EQ(outcome.cut.complete_call(), 0u);
  EXPECT_FALSE(outcome.cut.reached());
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_FALSE(run().complete());  // what rank 1 logged is lost
  EXPECT_EQ(read_file(target), with({0}));
}

TEST_F(CutTest, ListsSegmentsThatTheLedgerKnows) {
  {
    CrashedJob job(logs, 1, 2);
    for (const uint32_t rank : {0u, 1u}) declare(job, rank, 0, 2);
    write(job, 0, 0, 0, collective(1));
    write(job, 0, 0, 2, collective(2));
    write(job, 1, 0, 1, collective(1));
    job.ledger(target, {{{0, 0}, 1}, {{1, 0}, 1}});
    settle(job);
  }
  std::filesystem::remove(logs + "/job-0000000000000001/seg-1-0");
  const FileOutcome outcome = recover_cut();
  ASSERT_EQ(outcome.gone.size(), 1u);
  EXPECT_EQ(outcome.gone[0].name, "seg-1-0");
  EXPECT_EQ(outcome.gone[0].records, 1u);
  EXPECT_EQ(outcome.cut.opens.at(0).missing.at(0).reason, MissingRank::Reason::segment_gone);
  EXPECT_FALSE(report.complete());
}

TEST_F(CutTest, WithoutCollectiveCallsEverythingIsRestored) {
  {
    CrashedJob job(logs, 1, 2);
    declare(job, 0, 0, 2);
    write(job, 0, 0, 0, independent_after(0));
  }
  const FileOutcome outcome = recover_cut();
  EXPECT_EQ(outcome.result, FileResult::restored);
  EXPECT_TRUE(outcome.cut.opens.empty());
  EXPECT_EQ(read_file(target), with({0}));
  EXPECT_TRUE(left().empty());
}

TEST_F(CutTest, EveryOpenHasItsOwn) {
  {
    CrashedJob job(logs, 1, 1);
    declare(job, 0, 0, 1);
    OpenEntry other{};
    other.open = 9;
    other.ranks = 2;
    job.segment(0, 0, target).writer.set_open(1, other);
    write(job, 0, 0, 0, collective(1));
    write(job, 0, 0, 1, CallNumber(2, 1, false));  // its other rank has not come so far
    settle(job);
  }
  const FileOutcome outcome = recover_cut();
  ASSERT_EQ(outcome.cut.opens.size(), 2u);
  EXPECT_EQ(outcome.cut.opens[0].complete, 1u);
  EXPECT_EQ(outcome.cut.opens[1].complete, 0u);
  EXPECT_EQ(read_file(target), with({0}));
}

}  // namespace
}  // namespace pmio::test
