// A segment of format version 1, written once and for all by tests/golden/make_segment_v1.py, stays readable.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "crash_region.h"
#include "log/segment.h"

namespace pmio {
namespace {

std::vector<uint64_t> golden(const char* name) {
  const auto path = std::filesystem::path(PMIO_TESTS_DIRECTORY) / "golden" / name;
  std::vector<uint64_t> words(kMinSegmentBytes / 8);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(words.data()), kMinSegmentBytes);
  EXPECT_EQ(file.gcount(), static_cast<std::streamsize>(kMinSegmentBytes)) << path;
  return words;
}

void expect_contents(const std::vector<uint64_t>& words) {
  auto reader = SegmentReader::open(std::as_bytes(std::span(words)));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const SegmentReader& segment = reader.value();
  EXPECT_EQ(segment.path(), "/scratch/run/out.nc");
  EXPECT_EQ(segment.header().salt, 0x0123456789abcdefu);
  EXPECT_EQ(segment.header().job, 0xc0ffeeu);
  EXPECT_EQ(segment.header().rank, 1u);
  EXPECT_EQ(segment.header().ranks, 4u);
  EXPECT_EQ(segment.header().target, (FileIdentity{0xfe00, 4711, 1'700'000'000'000'000'000}));
  ASSERT_EQ(segment.count_valid(), 2u);
  const LogRecord& extent = segment.record(0);
  EXPECT_EQ(record_vector(extent), (Vector{1000, 21, 0, 1}));
  EXPECT_EQ(0, std::memcmp(segment.data(extent), "hello, persistent log", 21));
  const LogRecord& vector = segment.record(1);
  EXPECT_EQ(record_vector(vector), (Vector{4096, 8, 32, 3}));
  EXPECT_EQ(vector.stamp_ns, 5'000'002'000u);
  EXPECT_EQ(vector.collective_call, 1u);
  EXPECT_EQ(vector.flags, kLastOfCall);
  EXPECT_EQ(segment.data(vector)[23], std::byte{0x27});
}

TEST(Golden, Version1) {
  const auto words = golden("segment-v1.bin");
  expect_contents(words);
  EXPECT_EQ(SegmentReader::open(std::as_bytes(std::span(words)))->header().compat, 0u);
}

TEST(Golden, Version1WithFencedRecords) {
  const auto words = golden("segment-v1-fenced.bin");
  expect_contents(words);
  auto reader = SegmentReader::open(std::as_bytes(std::span(words)));
  EXPECT_EQ(reader->header().compat, kFencedRecords | kDurableFences);
  EXPECT_EQ(reader->record(1).fenced_records, 1u);
  EXPECT_EQ(reader->fenced_records(1), 2u);
  EXPECT_EQ(reader->fenced_records(2), 2u);  // by the seal
  EXPECT_EQ(reader->fenced_records(3), 0u);
}

// What the writer of today makes of the same calls is checked to the byte of the table.
TEST(Golden, Version1WithOpenTable) {
  const auto words = golden("segment-v1-opens.bin");
  auto reader = SegmentReader::open(std::as_bytes(std::span(words)));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader->header().compat, kFencedRecords | kDurableFences | kOpenTable);
  EXPECT_EQ(reader->count_valid(), 2u);
  EXPECT_EQ(reader->record(1).flags, kLastOfCall | 1u << kOpenShift);
  const auto entry = reader->open_entry(0);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->open, 9u);
  EXPECT_EQ(entry->ranks, 4u);
  EXPECT_EQ(entry->rank, 1u);
  EXPECT_EQ(entry->last_call, 3u);
  EXPECT_FALSE(reader->open_entry(1));

  CrashRegion region(kMinSegmentBytes);
  auto writer = SegmentWriter::format(region, {0xc0ffee, 1, 0, 4, {}, "/scratch/run/out.nc"});
  ASSERT_TRUE(writer.ok());
  OpenEntry opened{};
  opened.open = 9;
  opened.ranks = 4;
  opened.rank = 1;
  writer->set_open(0, opened);
  writer->advance_open(0, 3);
  const std::byte* old = std::as_bytes(std::span(words)).data();
  constexpr size_t kCrc = offsetof(OpenEntry, update);
  for (const size_t at : {kOpenTableAt, kOpenTableAt + sizeof(OpenEntry)})
    EXPECT_EQ(0, std::memcmp(region.data() + at + kCrc, old + at + kCrc, sizeof(OpenEntry) - kCrc)) << at;
}

// By the writer of today: the same bytes but for what is new with every generation.
TEST(Golden, TheWriterStillWritesThem) {
  const auto words = golden("segment-v1-fenced.bin");
  auto reader = SegmentReader::open(std::as_bytes(std::span(words)));
  CrashRegion region(kMinSegmentBytes);
  auto writer = SegmentWriter::format(
      region, {0xc0ffee, 1, 0, 4, {0xfe00, 4711, 1'700'000'000'000'000'000}, "/scratch/run/out.nc"});
  ASSERT_TRUE(writer.ok());
  for (const uint32_t i : {0u, 1u}) {
    const LogRecord& record = reader->record(i);
    writer->append(record_vector(record), reader->data(record), record.stamp_ns, record.collective_call,
                   (record.flags & kLastOfCall) != 0);
    ASSERT_TRUE(writer->fence().ok());
  }
  ASSERT_TRUE(writer->seal().ok());
  const std::byte* old = std::as_bytes(std::span(words)).data();
  constexpr size_t kCrc = offsetof(LogRecord, data_crc);
  for (size_t at = kMinSegmentBytes - 3 * sizeof(LogRecord); at < kMinSegmentBytes; at += sizeof(LogRecord))
    EXPECT_EQ(0, std::memcmp(region.data() + at + kCrc, old + at + kCrc, sizeof(LogRecord) - kCrc)) << at;
  EXPECT_EQ(0, std::memcmp(region.data() + sizeof(SegmentHeader), old + sizeof(SegmentHeader),
                           kHeaderBytes + 48 - sizeof(SegmentHeader)));
}

}  // namespace
}  // namespace pmio
