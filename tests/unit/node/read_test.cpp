// Reads that do not go through the merged index or a window of the file: ascending records are searched where
// they lie, vectors are copied whole where they are read as they were written.
#include <array>

#include "job/pool.h"
#include "node/index.h"
#include "support/node_fixture.h"

namespace pmio {
namespace {

constexpr uint64_t kLog = 64 << 20;

TEST(NodeRead, AscendingRecordsNeedNoMerge) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  auto all = open_all(scratch, path, 2, kLog);
  Oracle oracle;
  std::mt19937_64 random(1);
  constexpr uint64_t kRecords = 3000, kRecord = 104;
  const auto write = [&](uint32_t rank, uint64_t offset, uint64_t n) {
    const auto bytes = random_bytes(random, n);
    ASSERT_TRUE(all[rank].file->append(offset, bytes.data(), n, 0).ok());
    oracle.write(offset, bytes.data(), n);
  };
  const auto check = [&](uint32_t rank, uint64_t offset, uint64_t n) {
    std::vector<std::byte> got_bytes(n);
    uint64_t got = 0;
    ASSERT_TRUE(all[rank].file->read(offset, got_bytes.data(), n, &got).ok());
    ASSERT_EQ(got, n);
    ASSERT_EQ(std::memcmp(got_bytes.data(), oracle.bytes.data() + offset, n), 0) << offset;
  };
  for (uint64_t i = 0; i < kRecords; i++) write(i % 2, i * kRecord, kRecord);
  for (uint64_t i = 0; i < kRecords; i++) check(i % 2, (i * 7 % kRecords) * kRecord, kRecord);
  check(0, 50, 5000);
  EXPECT_EQ(all[0].job->counters().merge_rounds.load() + all[1].job->counters().merge_rounds.load(), 0u);
  // One that goes back makes its rank's log a heap; the newest still wins.
  write(0, 1000, 500);
  for (uint32_t rank = 0; rank < 2; rank++) check(rank, 0, kRecords * kRecord);
  EXPECT_GT(all[0].job->counters().merge_rounds.load() + all[1].job->counters().merge_rounds.load(), 0u);
  close_all(all);
  EXPECT_TRUE(same(contents(path), oracle.bytes));
}

// Who only reads drains what others have logged all the same, and writes the file only then.
TEST(NodeRead, WhoOnlyReadsOpensNothingForWritingBeforeItDrains) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path) << "old bytes";
  Rank reader{join(scratch, 0, 2, kLog, true), nullptr};
  Job::OpenOptions options;
  options.path = path;
  options.read_only = true;
  reader.file = reader.job->open(options).value();
  std::byte bytes[9];
  uint64_t got = 0;
  ASSERT_TRUE(reader.file->read(0, bytes, sizeof bytes, &got).ok());
  EXPECT_FALSE(reader.file->target().opened_to_write());
  Rank writer{join(scratch, 1, 2, kLog, false), nullptr};
  options.read_only = false;
  writer.file = writer.job->open(options).value();
  ASSERT_TRUE(writer.file->append(0, reinterpret_cast<const std::byte*>("new"), 3, 0).ok());
  ASSERT_TRUE(reader.file->read(0, bytes, sizeof bytes, &got).ok());
  EXPECT_EQ(std::memcmp(bytes, "new bytes", got), 0);
  EXPECT_FALSE(reader.file->target().opened_to_write());
  ASSERT_TRUE(reader.file->drain().ok());
  EXPECT_TRUE(reader.file->target().opened_to_write());
  std::string text(9, ' ');
  std::ifstream(path).read(text.data(), 9);
  EXPECT_EQ(text, "new bytes");
  ASSERT_TRUE(reader.file->closing().release().ok());
  EXPECT_TRUE(writer.file->closing().release().ok());
}

TEST(NodeRead, WhatWasOpenedToBeReadMayBeWrittenByTheNextOpen) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path) << "old bytes";
  Rank rank{join(scratch, 0, 1, kLog, false), nullptr};
  Job::OpenOptions options;
  options.path = path;
  options.read_only = true;
  rank.file = rank.job->open(options).value();
  options.read_only = false;
  auto second = rank.job->open(options);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE((*second)->target().opened_to_write());
  EXPECT_TRUE((*second)->closing().release().ok());
  EXPECT_TRUE(rank.file->closing().release().ok());
}

// In the end that costs less than to search every segment each time.
TEST(NodeRead, WhatIsReadVeryOftenIsMerged) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  auto all = open_all(scratch, path, 2, kLog);
  for (uint32_t rank = 0; rank < 2; rank++)
    ASSERT_TRUE(all[rank].file->append(rank * 100, std::vector<std::byte>(100).data(), 100, 0).ok());
  std::byte byte;
  uint64_t got = 0;
  for (uint32_t i = 0; i < 100'000; i++) ASSERT_TRUE(all[0].file->read(i % 200, &byte, 1, &got).ok());
  EXPECT_EQ(all[0].job->counters().merge_rounds.load(), 1u);
  EXPECT_EQ(all[0].job->counters().merge_records.load(), 2u);
  close_all(all);
}

Pattern pattern_of(const Vector& vector) {
  Pattern pattern;
  pattern.add(vector);
  pattern.finish(vector.end());
  return pattern;
}

// What lies between them is copied as well, and does not count.
TEST(NodeRead, BytesOfAViewCountAsTheLogsOrTheFiles) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path) << std::string(8000, 'f');
  auto all = open_all(scratch, path, 2, kLog);
  const Pattern whole = pattern_of({0, 4000, 0, 1});
  for (uint32_t rank = 0; rank < 2; rank++) {
    const std::string letters(2000, static_cast<char>('0' + rank));
    const Pattern to = pattern_of({8 * rank, 8, 32, 250});
    PatternCursor file(to, 0, 0), memory(whole, 0, 0);
    const auto* bytes = reinterpret_cast<const std::byte*>(letters.data());
    ASSERT_TRUE(all[rank].file->append(file, memory, bytes, letters.size(), {}).ok());
  }
  const Pattern from = pattern_of({4, 16, 32, 250});
  PatternCursor file(from, 0, 0), memory(whole, 0, 0);
  std::string letters(4000, ' ');
  uint64_t got = 0;
  ASSERT_TRUE(all[0].file->read(file, memory, reinterpret_cast<std::byte*>(letters.data()), 4000, &got).ok());
  EXPECT_EQ(got, 4000u);
  for (uint64_t i = 0; i < 4000; i += 16) ASSERT_EQ(letters.substr(i, 16), "000011111111ffff");
  ASSERT_TRUE(all[0].file->closing().release().ok());
  EXPECT_EQ(all[0].job->counters().read_log_bytes.load(), 3000u);
  EXPECT_EQ(all[0].job->counters().read_file_bytes.load(), 1000u);
  all[0].file.reset();
  ASSERT_TRUE(all[1].file->closing().release().ok());
}

// mixed: blocks of a few sizes at a few strides, which cut each other; else one size at one stride, so that
// vectors interleave, coincide or continue each other.
Vector random_vector(std::mt19937_64& random, bool mixed) {
  const uint64_t block = mixed ? 8 << random() % 3 : 16;
  const auto stride = static_cast<int64_t>(block * (mixed ? 2 + random() % 2 : 2));
  const auto start = static_cast<int64_t>(block * (random() % 2) + (mixed && random() % 8 == 0 ? 4 : 0));
  return {start + stride * static_cast<int64_t>(random() % 2000), block, stride, 1024 + random() % 3000};
}

void vector_history(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  auto all = open_all(scratch, path, 2, kLog);
  Oracle oracle;
  const Pattern stream = Pattern::bytes(1);
  for (int step = 0; step < 40; step++) {
    File& file = *all[random() % 2].file;
    const Vector vector = random_vector(random, seed % 3 == 0);
    const Pattern pattern = pattern_of(vector);
    PatternCursor cursor(pattern, 0, 0), memory(stream, 0, 0);
    if (random() % 2 == 0) {
      const auto data = random_bytes(random, vector.bytes());
      ASSERT_TRUE(file.append(cursor, memory, data.data(), vector.bytes(), 0).ok());
      for (uint64_t i = 0; i < vector.count; i++)
        oracle.write(static_cast<uint64_t>(vector.offset) + i * static_cast<uint64_t>(vector.stride),
                     data.data() + i * vector.block_length, vector.block_length);
    } else if (random() % 8 == 0) {
      ASSERT_TRUE(file.drain().ok());
    } else {
      std::vector<std::byte> data(vector.bytes());
      uint64_t got = 0, expected = 0;
      ASSERT_TRUE(file.read(cursor, memory, data.data(), vector.bytes(), &got).ok());
      for (uint64_t i = 0; i < vector.count; i++) {
        const uint64_t at = static_cast<uint64_t>(vector.offset) + i * static_cast<uint64_t>(vector.stride);
        const uint64_t n =
            at >= oracle.bytes.size() ? 0 : std::min<uint64_t>(vector.block_length, oracle.bytes.size() - at);
        ASSERT_EQ(std::memcmp(data.data() + i * vector.block_length, oracle.bytes.data() + at, n), 0)
            << "step " << step << " block " << i;
        expected += n;
      }
      ASSERT_EQ(got, expected);
    }
  }
  close_all(all);
  EXPECT_TRUE(same(contents(path), oracle.bytes));
}

TEST(NodeRead, VectorsReadAsOthersWereWritten) {
  for (uint64_t seed = 0; seed < 60; seed++) {
    vector_history(seed);
    if (HasFatalFailure()) return;
  }
}

// What the log leaves of a range comes from the file, with few system calls where gaps are near each other.
TEST(NodeRead, GapsComeFromTheFile) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::mt19937_64 random(11);
  constexpr uint64_t kOnDisk = 600'000, kLogged = 900'000;
  Oracle oracle;
  const auto old = random_bytes(random, kOnDisk);
  oracle.write(0, old.data(), kOnDisk);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(old.data()), kOnDisk).flush();
  auto all = open_all(scratch, path, 2, kLog);
  File& file = *all[0].file;
  for (uint64_t at = 0; at < kLogged; at += 1 + random() % (random() % 10 == 0 ? 9000 : 200)) {
    const auto bytes = random_bytes(random, 1 + random() % 100);
    ASSERT_TRUE(all[random() % 2].file->append(at, bytes.data(), bytes.size(), 0).ok());
    oracle.write(at, bytes.data(), bytes.size());
  }
  const auto check = [&](uint64_t a, uint64_t b) {
    std::vector<std::byte> found(b - a);
    uint64_t got = 0;
    ASSERT_TRUE(file.read(a, found.data(), found.size(), &got).ok());
    ASSERT_EQ(got, std::min<uint64_t>(b, oracle.bytes.size()) - a);
    ASSERT_EQ(std::memcmp(found.data(), oracle.bytes.data() + a, got), 0) << a << " to " << b;
  };
  check(0, oracle.bytes.size() + 10);
  for (int i = 0; i < 300; i++) {
    const uint64_t a = random() % oracle.bytes.size();
    check(a, a + 1 + random() % 50'000);
  }
  close_all(all);
  EXPECT_TRUE(same(contents(path), oracle.bytes));
}

// A reader may look at a record whose segment has been given back, and filled anew, since it learnt of it: it
// notices afterwards. Where records were, there may be any bytes, zeros among them.
TEST(NodeRead, WhatARecordHasBecomeDoesNoHarm) {
  Scratch scratch;
  auto medium = open_medium(scratch.log_, Durability::none);
  ASSERT_TRUE(medium.ok());
  ASSERT_TRUE((*medium)->create(SegmentPool::segment_name(0, 0), kMinSegmentBytes).ok());
  const auto memory = std::make_unique<std::byte[]>(control_bytes(1) + alignof(FileControl));
  void* at = memory.get();
  size_t room = control_bytes(1) + alignof(FileControl);
  auto* control = static_cast<FileControl*>(std::align(alignof(FileControl), control_bytes(1), at, room));
  init_control(control, std::array{0U}, 1);
  SegmentMap map(**medium, std::array{0U});
  Entry entry{};
  entry.end = 100;
  entry.where = 3;
  entry.vector = 1;
  EntrySource::Located located;
  EXPECT_FALSE(FileEntrySource(control, &map).locate(entry, &located));

  RankCell& rank = control->cells[0];
  rank.segments[0].salt = 1;
  rank.segments[0].published = 4;
  rank.cells = 1;
  rank.appended = 4;
  Counters counters;
  FileIndex index(control, &map, {medium->get(), medium->get(), "key", 0}, &counters);
  for (const uint32_t unordered : {0, 1}) {
    rank.segments[0].unordered = unordered;
    std::vector<Entry> found;
    EXPECT_TRUE(index.scan_unmerged(0, 100, &found).ok());
    EXPECT_TRUE(found.empty());
  }
}

}  // namespace
}  // namespace pmio
