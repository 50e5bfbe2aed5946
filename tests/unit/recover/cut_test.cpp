// The consistent cut, on small logs made by hand.
#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"
#include "log/target_mark.h"

namespace pmio::test {
namespace {

constexpr int64_t kPiece = 10;

// Calls of one open, each of which gives kPiece bytes of its own value to a place of its own.
class CutTest : public RecoverTest {
 protected:
  static constexpr uint32_t kOpen = 1;  // CallNumber::open

  void declare(CrashedJob& job, uint32_t rank, uint32_t slot, uint32_t ranks, uint32_t begin = 0,
               bool later = false) {
    OpenEntry entry{};
    entry.open = 7;
    entry.ranks = ranks;
    entry.rank = rank;
    entry.begin_call = entry.last_call = begin;
    entry.begin_later = later ? 1 : 0;
    job.segment(rank, slot, target).writer.set_open(0, entry);
    ASSERT_TRUE(job.segment(rank, slot, target).writer.fence().ok());
  }

  void write(CrashedJob& job, uint32_t rank, uint32_t slot, int64_t place, CallNumber call,
             bool last = true) {
    SegmentWriter& writer = job.segment(rank, slot, target).writer;
    const Bytes data(kPiece, value(place));
    writer.append({place * kPiece, kPiece, 0, 1}, data.data(), ++stamp_, call, last);
    ASSERT_TRUE(writer.fence().ok());
  }
  static CallNumber collective(uint32_t number) { return {kOpen, number, false}; }
  static CallNumber independent_after(uint32_t number) { return {kOpen, number, true}; }

  static std::byte value(int64_t place) { return static_cast<std::byte>(place + 1); }
  // The file with these places written.
  static Bytes with(const std::vector<int64_t>& places) {
    Bytes bytes;
    for (const int64_t place : places) {
      const auto end = static_cast<size_t>((place + 1) * kPiece);
      if (bytes.size() < end) bytes.resize(end);
      std::fill_n(bytes.begin() + place * kPiece, kPiece, value(place));
    }
    return bytes;
  }

  // The mark that says that no drain was under way.
  void settle(CrashedJob& job) {
    auto mark = TargetMark::create(*job.medium, "mark-" + file_key(identity(target)));
    ASSERT_TRUE(mark.ok());
    auto file = TargetFile::open_same(target, identity(target), TargetFile::Access::read_only);
    ASSERT_TRUE(file.ok());
    mark->settled(*(*file)->state());
  }

  FileOutcome recover_cut() {
    RecoverOptions options;
    options.consistent = true;
    report = run(options);
    return report.jobs.at(0).files.at(0);
  }

  RecoverReport report;
  uint64_t stamp_ = 0;
};

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

// Recoveries to the cut and of everything in turn, killed anywhere, looked at before: each that comes to its
// end leaves what it promises.
TEST_F(CutTest, InAnyOrderAndKilledAnywhere) {
  constexpr uint32_t kRanks = 3, kCut = 5;
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; round++) {
    SCOPED_TRACE(round);
    write_file(target, {});
    Oracle all, cut;
    {
      CrashedJob job(logs, 1, kRanks);
      for (uint32_t rank = 0; rank < kRanks; rank++) declare(job, rank, 0, kRanks);
      for (uint32_t call = 1; call <= kCut + 3; call++) {
        for (uint32_t rank = 0; rank < kRanks; rank++) {
          if (call > kCut && rank == 0) continue;
          const Vector where = random_range(random, 2000, 100, 100);
          const Bytes data = random_bytes(random, where.bytes());
          SegmentWriter& writer = job.segment(rank, 0, target).writer;
          const bool independent = call > 1 && random() % 3 == 0;
          if (independent) {
            writer.append(where, data.data(), ++stamp_, independent_after(call - 1), true);
            all.write(where, data);
            if (call - 1 < kCut) cut.write(where, data);
          }
          const Bytes own = random_bytes(random, where.bytes());
          writer.append(where, own.data(), ++stamp_, collective(call), true);
          ASSERT_TRUE(writer.fence().ok());
          all.write(where, own);
          if (call <= kCut) cut.write(where, own);
        }
      }
      settle(job);
    }
    bool ahead = false;
    for (int i = 0; i < 6; i++) {
      RecoverOptions options;
      options.directory = logs;
      options.consistent = random() % 2 == 0;
      options.dry_run = random() % 4 == 0;
      const bool kill = !options.consistent || random() % 2 == 0;
      ahead = ahead || (!options.consistent && !options.dry_run);
      if (!kill) {
        report = run(options);
        const FileOutcome& outcome = report.jobs.at(0).files.at(0);
        EXPECT_EQ(outcome.result, FileResult::cut);
        EXPECT_EQ(outcome.cut.complete_call(), kCut);
        EXPECT_TRUE(!ahead || !outcome.cut.perhaps_in_file.empty());
        EXPECT_TRUE(ahead || options.dry_run || read_file(target) == cut.bytes);
        continue;
      }
      const pid_t child = fork();
      if (child == 0) {
        const bool synced = random() % 2 == 0;
        options.progress = [synced](const RecoverProgress& now) {
          if (!synced || now.step == RecoverStep::synced) raise(SIGKILL);
        };
        _exit(recover(options).ok() ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    EXPECT_TRUE(run().complete());
    EXPECT_EQ(read_file(target), all.bytes);
    EXPECT_TRUE(left().empty());
  }
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
