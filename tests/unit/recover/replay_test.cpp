// Replay against a byte array: overlapping extents and vectors of several ranks, partial drains, several
// jobs.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "fixture.h"

namespace pmio::test {
namespace {

struct Written {
  uint32_t rank, slot;
  Vector where;
  Bytes data;
  uint64_t stamp;
};

std::vector<Written> random_records(std::mt19937_64& random, uint32_t ranks, int count, uint64_t file_bytes) {
  std::vector<Written> records;
  std::map<uint32_t, uint64_t> clock;
  for (int i = 0; i < count; i++) {
    Written written;
    written.rank = static_cast<uint32_t>(random() % ranks);
    written.slot = i < count / 2 ? 0 : 1;  // each rank goes on in its second segment
    written.where = random_range(random, file_bytes, 300, 2000);
    written.data = random_bytes(random, written.where.bytes());
    written.stamp = clock[written.rank] += random() % 3;  // ties within and between ranks
    records.push_back(std::move(written));
  }
  return records;
}

Bytes expected(Bytes start, std::vector<Written> records) {
  std::stable_sort(records.begin(), records.end(), [](const Written& a, const Written& b) {
    return std::tie(a.stamp, a.rank, a.slot) < std::tie(b.stamp, b.rank, b.slot);
  });
  Oracle oracle{std::move(start)};
  for (const Written& written : records) oracle.write(written.where, written.data);
  return oracle.bytes;
}

class Replay : public RecoverTest, public testing::WithParamInterface<int> {};

TEST_P(Replay, IsWhatTheRanksWrote) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  const uint64_t file_bytes = GetParam() % 3 == 0 ? 20'000 : 12'000'000;  // in one window, and in several
  const Bytes before = random_bytes(random, random() % 30'000);
  write_file(target, before);
  const auto records = random_records(random, 3, 120, file_bytes);
  {
    CrashedJob job(logs, 7, 3);
    for (const Written& w : records) job.write(w.rank, w.slot, target, w.where, w.data, w.stamp);
  }
  const RecoverReport report = run();
  EXPECT_TRUE(report.complete());
  ASSERT_EQ(report.jobs.size(), 1u);
  ASSERT_EQ(report.jobs[0].files.size(), 1u);
  EXPECT_EQ(report.jobs[0].files[0].result, FileResult::restored);
  EXPECT_EQ(report.jobs[0].files[0].records, records.size());
  EXPECT_EQ(report.jobs[0].files[0].ranks, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_TRUE(report.jobs[0].removed);
  EXPECT_TRUE(same(read_file(target), expected(before, records)));
  EXPECT_TRUE(left().empty());
}

// The drained records are not written again: the file may have got newer bytes at their place since.
TEST_P(Replay, LeavesOutWhatIsDrained) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  const auto records = random_records(random, 3, 60, 50'000);
  std::vector<Written> undrained;
  {
    CrashedJob job(logs, 7, 3);
    for (const Written& w : records) job.write(w.rank, w.slot, target, w.where, w.data, w.stamp);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> drained, seen;
    for (const auto& [which, segment] : job.segments) {
      if (random() % 3 != 0) drained[which] = random() % (segment.writer.records() + 1);
    }
    job.ledger(target, {});
    job.ledger(target, drained);
    for (const Written& w : records) {
      const std::pair which{w.rank, w.slot};
      if (seen[which]++ >= drained[which]) undrained.push_back(w);
    }
  }
  EXPECT_TRUE(run().complete());
  EXPECT_TRUE(same(read_file(target), expected({}, undrained)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Replay, testing::Range(0, 30));

TEST_F(RecoverTest, ALedgerEntryOfAnEarlierGenerationDoesNotCount) {
  const Bytes data(100, std::byte{5});
  {
    CrashedJob job(logs, 1, 1);
    job.write(0, 0, target, {0, 100, 0, 1}, data, 1);
    job.ledger(target, {{{0, 0}, 1}});
    auto& segment = job.segments[{0, 0}];
    segment.writer = *SegmentWriter::format(*segment.region, {1, 0, 0, 1, identity(target), target});
    job.write(0, 0, target, {50, 100, 0, 1}, data, 2);
  }
  EXPECT_TRUE(run().complete());
  Oracle oracle;
  oracle.write({50, 100, 0, 1}, data);
  EXPECT_TRUE(same(read_file(target), oracle.bytes));
}

TEST_F(RecoverTest, AColumnOfAHugeArrayIsNotWalkedWindowByWindow) {
  const Vector column{123, 8, int64_t{1} << 36, 64};  // spans 4 TiB, a million windows
  std::mt19937_64 random(1);
  const Bytes data = random_bytes(random, column.bytes());
  {
    CrashedJob job(logs, 1, 1);
    job.write(0, 0, target, column, data, 1);
    job.write(0, 0, target, {0, 8, 0, 1}, Bytes(8), 2);
  }
  int windows = 0;
  RecoverOptions options;
  options.progress = [&](const RecoverProgress& progress) {
    windows += progress.step == RecoverStep::window;
  };
  EXPECT_TRUE(run(options).complete());
  EXPECT_LE(windows, 2 * 64 + 1);
  std::ifstream file(target, std::ios::binary);
  for (uint64_t i = 0; i < column.count; i++) {
    char block[8];
    file.seekg(column.offset + static_cast<int64_t>(i) * column.stride);
    file.read(block, sizeof block);
    ASSERT_EQ(std::memcmp(block, data.data() + i * 8, 8), 0) << i;
  }
}

// Later jobs come later, whatever their clocks said: a clock that begins at the boot cannot be compared.
TEST_F(RecoverTest, JobsAreReplayedInTheOrderOfTheirStart) {
  { CrashedJob(logs, 9, 1).write(0, 0, target, {0, 100, 0, 1}, Bytes(100, std::byte{1}), 1000); }
  { CrashedJob(logs, 3, 1).write(0, 0, target, {50, 100, 0, 1}, Bytes(100, std::byte{2}), 5); }
  EXPECT_TRUE(run().complete());
  Bytes wanted(150, std::byte{1});
  std::fill(wanted.begin() + 50, wanted.end(), std::byte{2});
  EXPECT_TRUE(same(read_file(target), wanted));
}

TEST_F(RecoverTest, SaysWhichCollectiveCallIsComplete) {
  {
    CrashedJob job(logs, 1, 4);
    const Bytes data(10, std::byte{1});
    for (uint32_t rank = 0; rank < 3; rank++) {
      for (uint32_t call = 1; call <= 5 + rank; call++) {
        const Vector where{static_cast<int64_t>(100 * rank + 10 * call), 10, 0, 1};
        job.write(rank, 0, target, where, data, call, call, true);
      }
    }
    job.write(0, 0, target, {0, 10, 0, 1}, data, 6, 6, false);  // begun, not finished
  }
  const RecoverReport report = run();
  EXPECT_EQ(report.jobs.at(0).files.at(0).cut.complete_call(), 5u);
  EXPECT_EQ(report.jobs.at(0).ranks, 4u);
}

TEST_F(RecoverTest, OneFileOnly) {
  const std::string other = root + "/other";
  write_file(other, {});
  const Bytes data(10, std::byte{1});
  {
    CrashedJob job(logs, 1, 1);
    job.write(0, 0, target, {0, 10, 0, 1}, data, 1);
    job.write(0, 1, other, {0, 10, 0, 1}, data, 2);
  }
  RecoverOptions options;
  options.path = other;
  EXPECT_TRUE(run(options).complete());
  EXPECT_EQ(read_file(other), data);
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), data);
  EXPECT_TRUE(left().empty());
}

}  // namespace
}  // namespace pmio::test
