// Whatever a segment holds, the reader stays inside it, and what it calls valid can be read.
#include <cstdlib>

#include "input.h"
#include "log/segment.h"
#include "recover/evidence.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void read_all(const pmio::SegmentReader& reader, std::span<const std::byte> bytes) {
  const uint32_t count = reader.count_valid();
  require(count <= reader.count_valid(false));
  const std::byte* data_end = bytes.data() + pmio::kHeaderBytes;
  for (uint32_t i = 0; i < count; ++i) {
    const pmio::LogRecord& record = reader.record(i);
    require(reader.valid(i, true));
    require(reader.data(record) >= data_end);
    data_end = reader.data(record) + record.length;
    require(data_end <= reinterpret_cast<const std::byte*>(&record));
    require(pmio::crc32c(0, reader.data(record), record.length) == record.data_crc);
    const pmio::Vector where = pmio::record_vector(record);
    require(where.bytes() == record.length && where.offset >= 0 && where.end() > where.offset);
  }
  const uint32_t slots = static_cast<uint32_t>((bytes.size() - pmio::kHeaderBytes) / sizeof(pmio::LogRecord));
  require(reader.fenced_records(count) <= slots);
  const pmio::ControlEvidence::Cell cell{.published = 0xffffffff};
  const auto damage = pmio::find_damage(reader, count, &cell, true);
  require(!damage || (damage->first == count && damage->acknowledged <= slots));
  static_cast<void>(reader.valid(0xffffffff, true));
  require(reader.path().size() <= pmio::kMaxPath);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  auto segment = pmio::fuzz::segment_from(input, size);
  const std::span<const std::byte> bytes(segment.data(), segment.size());
  const auto reader = pmio::SegmentReader::open(bytes);
  if (reader.ok()) read_all(reader.value(), bytes);
  // Truncated: on the heap with its true size, so that the sanitizer sees a step beyond it.
  const std::vector<std::byte> raw(reinterpret_cast<const std::byte*>(input),
                                   reinterpret_cast<const std::byte*>(input) + size);
  require(size >= pmio::kMinSegmentBytes || !pmio::SegmentReader::open(raw).ok());
  return 0;
}
