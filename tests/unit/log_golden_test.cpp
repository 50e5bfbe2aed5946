// A segment of format version 1, written once and for all by tests/golden/make_segment_v1.py, stays readable.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "log/segment.h"

namespace pmio {
namespace {

std::vector<uint64_t> golden() {
  const auto path = std::filesystem::path(PMIO_TESTS_DIRECTORY) / "golden/segment-v1.bin";
  std::vector<uint64_t> words(kMinSegmentBytes / 8);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(words.data()), kMinSegmentBytes);
  EXPECT_EQ(file.gcount(), static_cast<std::streamsize>(kMinSegmentBytes)) << path;
  return words;
}

TEST(Golden, Version1) {
  const auto words = golden();
  const auto reader = SegmentReader::open(std::as_bytes(std::span(words)));
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

}  // namespace
}  // namespace pmio
