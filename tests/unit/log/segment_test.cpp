// Appends are read back exactly; whatever is damaged is rejected from that record on, and nothing before it.
#include "log/segment.h"

#include <gtest/gtest.h>

#include <random>

#include "base/checksum.h"
#include "crash_region.h"
#include "support/bytes.h"

namespace pmio {
namespace {

constexpr size_t kSize = kMinSegmentBytes;
const SegmentIdentity kIdentity{7, 3, 1, 4, {10, 20, 30}, "/data/out.nc"};

struct Written {
  Vector where;
  std::vector<std::byte> data;
  uint64_t stamp;
  bool last;
};

Vector random_where(std::mt19937_64& random) {
  const bool vector = random() % 2;
  const uint64_t block = 1 + random() % (vector ? 64 : 3000);
  const uint64_t count = vector ? 2 + random() % 40 : 1;
  const int64_t stride = vector ? static_cast<int64_t>(block + random() % 100) : 0;
  return {static_cast<int64_t>(random() % (uint64_t{1} << 40)), block, stride, count};
}

Written append_random(SegmentWriter& writer, std::mt19937_64& random) {
  Written one{random_where(random), {}, random(), random() % 2 == 0};
  one.data = random_bytes(random, one.where.bytes());
  writer.append(one.where, one.data.data(), one.stamp, static_cast<uint32_t>(one.stamp), one.last);
  return one;
}

void expect_record(const SegmentReader& reader, uint32_t index, const Written& want) {
  const LogRecord& record = reader.record(index);
  EXPECT_EQ(record_vector(record), want.where);
  EXPECT_EQ(record.stamp_ns, want.stamp);
  EXPECT_EQ(record.collective_call, static_cast<uint32_t>(want.stamp));
  EXPECT_EQ(record.flags, want.last ? kLastOfCall : 0);
  ASSERT_EQ(record.length, want.data.size());
  EXPECT_EQ(0, std::memcmp(reader.data(record), want.data.data(), want.data.size()));
}

SegmentReader open_or_die(const CrashRegion& region) {
  auto reader = SegmentReader::open(region.bytes());
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return reader.ok() ? reader.value() : SegmentReader();
}

TEST(Segment, HeaderIsReadBack) {
  CrashRegion region(kSize);
  const auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  const SegmentReader reader = open_or_die(region);
  EXPECT_EQ(reader.path(), kIdentity.path);
  EXPECT_EQ(reader.header().job, 7u);
  EXPECT_EQ(reader.header().rank, 3u);
  EXPECT_EQ(reader.header().slot, 1u);
  EXPECT_EQ(reader.header().ranks, 4u);
  EXPECT_EQ(reader.header().target, kIdentity.target);
  EXPECT_EQ(reader.header().salt, writer.value().salt());
  EXPECT_NE(reader.header().salt, 0u);
  EXPECT_EQ(reader.count_valid(), 0u);
}

TEST(Segment, RandomAppendsUntilFull) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    CrashRegion region(kSize);
    auto writer = SegmentWriter::format(region, kIdentity);
    ASSERT_TRUE(writer.ok());
    std::vector<Written> all;
    while (writer->room_bytes() >= 4096) all.push_back(append_random(*writer, random));
    // The last record takes exactly what is left.
    all.push_back({{5, writer->room_bytes(), 0, 1}, random_bytes(random, writer->room_bytes()), 1, false});
    writer->append(all.back().where, all.back().data.data(), 1, 1, false);
    EXPECT_EQ(writer->room_bytes(), 0u);
    ASSERT_TRUE(writer->fence().ok());
    const SegmentReader reader = open_or_die(region);
    ASSERT_EQ(reader.count_valid(), all.size()) << "seed " << seed;
    ASSERT_EQ(reader.count_valid(false), all.size());
    for (uint32_t i = 0; i < all.size(); ++i) expect_record(reader, i, all[i]);
    EXPECT_EQ(reader.fenced_records(static_cast<uint32_t>(all.size())), 0u);
  }
}

TEST(Segment, MemoryInPiecesGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const uint64_t block = 1 + random() % (seed % 5 == 0 ? 9000 : 40);
    const uint64_t gap = random() % 30, count = 1 + random() % (40000 / (block + gap));
    Pattern pattern;
    pattern.add({0, block, static_cast<int64_t>(block + gap), count});
    pattern.finish(static_cast<int64_t>((block + gap) * count));
    const auto memory = random_bytes(random, (block + gap) * count * 2);
    const uint64_t skip = random() % (block * count), bytes = 1 + random() % (block * count);
    std::vector<std::byte> want;
    for (uint64_t i = skip; i < skip + bytes; ++i)
      want.push_back(memory[i / block * (block + gap) + i % block]);
    CrashRegion region(kSize);
    auto writer = SegmentWriter::format(region, kIdentity);
    ASSERT_TRUE(writer.ok());
    PatternCursor cursor(pattern, 0, skip);
    const Vector where{100, bytes, 0, 1};
    writer->append(where, cursor, memory.data(), 9, 9, true);
    EXPECT_EQ(cursor.position(), skip + bytes);
    const SegmentReader reader = open_or_die(region);
    ASSERT_EQ(reader.count_valid(), 1u) << "seed " << seed;
    expect_record(reader, 0, {where, want, 9, true});
  }
}

TEST(Segment, EveryBitFlipIsRejectedFromThatRecordOn) {
  std::mt19937_64 random(1);
  CrashRegion region(kSize);
  auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  std::vector<uint64_t> begins;
  std::vector<Written> all;
  for (int i = 0; i < 6; ++i) {
    begins.push_back(kHeaderBytes + writer->data_bytes());
    all.push_back(append_random(*writer, random));
  }
  const SegmentReader reader = open_or_die(region);
  const auto flip = [&](uint64_t byte, unsigned bit, uint32_t expected) {
    region.data()[byte] ^= static_cast<std::byte>(1u << bit);
    EXPECT_EQ(reader.count_valid(), expected) << "byte " << byte << " bit " << bit;
    region.data()[byte] ^= static_cast<std::byte>(1u << bit);
  };
  for (uint32_t i = 0; i < all.size(); ++i) {
    for (uint64_t byte = 0; byte < all[i].data.size(); ++byte) flip(begins[i] + byte, random() % 8, i);
    for (uint64_t byte = 0; byte < sizeof(LogRecord); ++byte)
      for (unsigned bit = 0; bit < 8; ++bit) flip(kSize - sizeof(LogRecord) * (i + 1) + byte, bit, i);
  }
  EXPECT_EQ(reader.count_valid(), all.size());
}

TEST(Segment, DamageIsToldFromATornTail) {
  std::mt19937_64 random(2);
  CrashRegion region(kSize);
  auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 3; ++i) append_random(*writer, random);
  ASSERT_TRUE(writer->fence().ok());
  for (int i = 0; i < 3; ++i) append_random(*writer, random);
  const SegmentReader reader = open_or_die(region);
  EXPECT_EQ(reader.fenced_records(0), 3u);
  EXPECT_EQ(reader.fenced_records(5), 3u);
  EXPECT_EQ(reader.fenced_records(6), 0u);
  EXPECT_EQ(reader.fenced_records(0xffffffff), 0u);
  // Record 4 overtook none that was fenced; record 2 was.
  region.data()[kSize - 64 * 5 + 8] ^= std::byte{1};
  ASSERT_EQ(reader.count_valid(), 4u);
  EXPECT_LE(reader.fenced_records(4), 4u);
  region.data()[kSize - 64 * 3 + 8] ^= std::byte{1};
  ASSERT_EQ(reader.count_valid(), 2u);
  EXPECT_EQ(reader.fenced_records(2), 3u);
}

TEST(Segment, ASealTellsHowManyThereAre) {
  std::mt19937_64 random(3);
  CrashRegion region(kSize);
  auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 4; ++i) append_random(*writer, random);
  ASSERT_TRUE(writer->fence().ok());
  ASSERT_TRUE(writer->seal().ok());
  EXPECT_EQ(writer->records(), 4u);
  EXPECT_EQ(writer->room_bytes(), 0u);
  const SegmentReader reader = open_or_die(region);
  EXPECT_EQ(reader.count_valid(), 4u);
  EXPECT_EQ(reader.fenced_records(4), 4u);
  region.data()[kSize - 64 * 4 + 8] ^= std::byte{1};
  EXPECT_EQ(reader.count_valid(), 3u);
  EXPECT_EQ(reader.fenced_records(3), 4u);
}

// One of 2^32 places of a segment has a checksum that matches by chance: a full log has as many on a node.
TEST(Segment, DataThatAreTakenForARecordProveNothing) {
  std::mt19937_64 random(7);
  CrashRegion region(kSize);
  auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  std::vector<std::byte> data = random_bytes(random, 100 * sizeof(LogRecord));
  for (uint64_t at = 0; at < data.size(); at += sizeof(LogRecord)) {
    LogRecord record;
    std::memcpy(&record, data.data() + at, sizeof record);
    const auto index = static_cast<uint32_t>((kSize - kHeaderBytes - at) / sizeof record - 1);
    record.record_crc = record_checksum(record, writer->salt(), index);
    std::memcpy(data.data() + at, &record, sizeof record);
  }
  writer->append({0, data.size(), 0, 1}, data.data(), 1, 0, true);
  ASSERT_TRUE(writer->fence().ok());
  const SegmentReader reader = open_or_die(region);
  ASSERT_EQ(reader.count_valid(), 1u);
  EXPECT_EQ(reader.fenced_records(1), 0u);
}

TEST(Segment, ASegmentFilledToTheLastByteCanBeSealed) {
  CrashRegion region(kSize);
  auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  const std::vector<std::byte> data(writer->room_bytes());
  writer->append({0, data.size(), 0, 1}, data.data(), 1, 0, true);
  EXPECT_EQ(writer->room_bytes(), 0u);
  ASSERT_TRUE(writer->fence().ok());
  ASSERT_TRUE(writer->seal().ok());
  EXPECT_EQ(open_or_die(region).count_valid(), 1u);
  EXPECT_EQ(open_or_die(region).fenced_records(1), 1u);
}

TEST(Segment, EveryHeaderBitCounts) {
  CrashRegion region(kSize);
  ASSERT_TRUE(SegmentWriter::format(region, kIdentity).ok());
  for (size_t byte = 0; byte < sizeof(SegmentHeader); ++byte) {
    region.data()[byte] ^= std::byte{4};
    EXPECT_FALSE(SegmentReader::open(region.bytes()).ok()) << "byte " << byte;
    region.data()[byte] ^= std::byte{4};
  }
  EXPECT_TRUE(SegmentReader::open(region.bytes()).ok());
  EXPECT_FALSE(SegmentReader::open(region.bytes().first(kSize - 64)).ok());
  EXPECT_FALSE(SegmentReader::open(region.bytes().first(0)).ok());
}

TEST(Segment, UnknownFeatures) {
  CrashRegion region(kSize);
  ASSERT_TRUE(SegmentWriter::format(region, kIdentity).ok());
  auto& header = *reinterpret_cast<SegmentHeader*>(region.data());
  header.compat = uint64_t{1} << 63;  // may be ignored
  header.header_crc = header_checksum(header);
  EXPECT_TRUE(SegmentReader::open(region.bytes()).ok());
  header.incompat = 1;  // may not
  header.header_crc = header_checksum(header);
  EXPECT_EQ(SegmentReader::open(region.bytes()).status().code(), Code::unsupported);
  header.version = 2;
  EXPECT_EQ(SegmentReader::open(region.bytes()).status().code(), Code::unsupported);
}

TEST(Segment, AnOldGenerationNeverValidates) {
  std::mt19937_64 random(3);
  CrashRegion region(kSize);
  uint64_t last_salt = 0;
  for (int generation = 0; generation < 30; ++generation) {
    auto writer = SegmentWriter::format(region, kIdentity);
    ASSERT_TRUE(writer.ok());
    EXPECT_NE(writer->salt(), last_salt);
    last_salt = writer->salt();
    const SegmentReader reader = open_or_die(region);
    EXPECT_EQ(reader.count_valid(false), 0u);
    EXPECT_EQ(reader.fenced_records(0), 0u);
    // The same sizes again: data and records of the old generation lie exactly where the new ones will.
    const std::vector<std::byte> data = random_bytes(random, 1312);
    for (uint32_t i = 0; i < 50u + generation % 3; ++i) {
      EXPECT_EQ(reader.count_valid(), i);
      writer->append({i * 1312, 1312, 0, 1}, data.data(), i, 0, true);
    }
  }
  ASSERT_TRUE(SegmentWriter::invalidate(region).ok());
  EXPECT_EQ(SegmentReader::open(region.bytes()).status().code(), Code::corrupt);
}

// Checksums right, contents impossible: what only a broken or hostile writer makes.
TEST(Segment, ImpossibleGeometryIsRejected) {
  CrashRegion region(kSize);
  auto writer = SegmentWriter::format(region, kIdentity);
  ASSERT_TRUE(writer.ok());
  const std::vector<std::byte> data(4096);
  writer->append({100, 16, 32, 4}, data.data(), 1, 1, true);
  writer->append({100, 64, 0, 1}, data.data(), 1, 1, true);
  const SegmentReader reader = open_or_die(region);
  ASSERT_EQ(reader.count_valid(), 2u);
  const auto reject = [&](uint32_t index, auto change) {
    auto& record = *reinterpret_cast<LogRecord*>(region.data() + kSize - 64 * (index + 1));
    const LogRecord good = record;
    change(record);
    record.record_crc = record_checksum(record, reader.header().salt, index);
    EXPECT_EQ(reader.count_valid(), index);
    record = good;
  };
  reject(0, [](LogRecord& r) { r.kind = 0; });
  reject(0, [](LogRecord& r) { r.kind = 3; });
  reject(0, [](LogRecord& r) { r.kind = 1; });
  reject(0, [](LogRecord& r) { r.length = 0; });
  reject(0, [](LogRecord& r) { r.block_length = 0; });
  reject(0, [](LogRecord& r) { r.block_length = 15; });
  reject(0, [](LogRecord& r) { r.block_length = 128; });
  reject(0, [](LogRecord& r) { r.stride = 15; });
  reject(0, [](LogRecord& r) { r.stride = uint64_t{1} << 62; });
  reject(0, [](LogRecord& r) { r.stride = ~uint64_t{0}; });
  reject(0, [](LogRecord& r) { r.file_offset = (uint64_t{1} << 63) - 100; });
  reject(0, [](LogRecord& r) { r.file_offset = ~uint64_t{0}; });
  reject(0, [](LogRecord& r) { r.data_position = 0; });
  reject(0, [](LogRecord& r) { r.data_position = ~0u; });
  reject(0, [](LogRecord& r) { r.data_position = (kSize - 64) / 8; });
  reject(1, [](LogRecord& r) { r.data_position = kHeaderBytes / 8; });  // data of record 0
  reject(1, [](LogRecord& r) { r.stride = 64; });
  reject(1, [](LogRecord& r) { r.block_length = r.length = ~uint64_t{0} - 100; });
}

TEST(Segment, SizesThatAreRefused) {
  for (const size_t size : {kMinSegmentBytes - 64, kMinSegmentBytes + 8}) {
    CrashRegion region(size);
    EXPECT_EQ(SegmentWriter::format(region, kIdentity).status().code(), Code::invalid);
  }
  CrashRegion region(kSize);
  SegmentIdentity identity = kIdentity;
  identity.path.assign(kMaxPath + 1, 'x');
  EXPECT_EQ(SegmentWriter::format(region, identity).status().code(), Code::invalid);
  identity.path.pop_back();
  EXPECT_TRUE(SegmentWriter::format(region, identity).ok());
  EXPECT_EQ(open_or_die(region).path().size(), kMaxPath);
  EXPECT_EQ(SegmentWriter().room_bytes(), 0u);
}

// Whatever becomes of the stores after the last fence: what was fenced is there, and nothing is there that
// was not written. Over a region that already holds a generation.
TEST(SegmentCrash, FencedRecordsSurvive) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    CrashRegion region(kSize);
    auto old = SegmentWriter::format(region, kIdentity);
    ASSERT_TRUE(old.ok());
    for (uint64_t n = random() % 20; n > 0; --n) append_random(*old, random);
    ASSERT_TRUE(old->fence().ok());
    auto writer = SegmentWriter::format(region, kIdentity);
    ASSERT_TRUE(writer.ok());
    std::vector<Written> all;
    size_t fenced = 0;
    for (uint64_t n = random() % 20; n > 0; --n) {
      all.push_back(append_random(*writer, random));
      if (random() % 3 != 0) continue;
      ASSERT_TRUE(writer->fence().ok());
      fenced = all.size();
    }
    for (int crash = 0; crash < 10; ++crash) {
      const auto found = region.after_crash(random);
      const SegmentReader reader = open_or_die(*found);
      const uint32_t count = reader.count_valid();
      EXPECT_GE(count, fenced) << "seed " << seed;
      ASSERT_LE(count, all.size()) << "seed " << seed;
      for (uint32_t i = 0; i < count; ++i) expect_record(reader, i, all[i]);
    }
  }
}

}  // namespace
}  // namespace pmio
