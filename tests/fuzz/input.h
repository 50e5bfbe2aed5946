// How a short fuzzer input becomes a segment: a mode byte, then the number of records (one byte), the records
// in order, then the beginning of the file: header, data. The middle, which inputs would have to spell out,
// is zero. Mode bit 0: checksums are put right first, so that what lies behind them is reached.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checksum.h"
#include "log/format.h"

namespace pmio::fuzz {

struct Segment {
  std::vector<uint64_t> words = std::vector<uint64_t>(kMinSegmentBytes / 8);
  std::byte* data() { return reinterpret_cast<std::byte*>(words.data()); }
  size_t size() const { return kMinSegmentBytes; }
};

inline void fix_checksums(Segment& segment, uint32_t records) {
  auto& header = *reinterpret_cast<SegmentHeader*>(segment.data());
  header.header_crc = header_checksum(header);
  for (uint32_t i = 0; i < records; ++i) {
    auto& record =
        *reinterpret_cast<LogRecord*>(segment.data() + segment.size() - sizeof(LogRecord) * (i + 1));
    const uint64_t begin = uint64_t{record.data_position} * kDataAlignment;
    if (begin <= segment.size() && record.length <= segment.size() - begin)
      record.data_crc = crc32c(0, segment.data() + begin, record.length);
    record.record_crc = record_checksum(record, header.salt, i);
  }
}

inline Segment segment_from(const uint8_t* input, size_t size) {
  Segment segment;
  if (size < 2) return segment;
  const bool fix = input[0] & 1;
  const size_t records = std::min<size_t>(input[1], (size - 2) / sizeof(LogRecord));
  input += 2;
  for (size_t i = 0; i < records; ++i, input += sizeof(LogRecord))
    std::memcpy(segment.data() + segment.size() - sizeof(LogRecord) * (i + 1), input, sizeof(LogRecord));
  const size_t left = std::min(size - 2 - records * sizeof(LogRecord), segment.size() / 2);
  std::memcpy(segment.data(), input, left);
  if (fix) fix_checksums(segment, static_cast<uint32_t>(records));
  return segment;
}

}  // namespace pmio::fuzz
