#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "log/segment.h"

namespace pmio {

namespace {

// "Valid iff" (2) and (3) of a record.
bool geometry_holds(const LogRecord& record) {
  const uint64_t block = record.block_length;
  if (block == 0 || block > record.length || record.length % block != 0) return false;
  const uint64_t blocks = record.length / block;
  switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::extent:
      if (blocks != 1 || record.stride != 0) return false;
      break;
    case RecordKind::vector:
      if (record.stride < block) return false;
      break;
    default:
      return false;
  }
  return well_formed(record_vector(record));
}

// Without the checksum, which the caller compares.
bool is_seal(const LogRecord& record, uint32_t index) {
  LogRecord seal{};
  seal.record_crc = record.record_crc;
  seal.kind = static_cast<uint16_t>(RecordKind::seal);
  seal.fenced_records = index;
  return std::memcmp(&seal, &record, sizeof seal) == 0;
}

uint64_t data_begin(const LogRecord& record) { return uint64_t{record.data_position} * kDataAlignment; }

Status corrupt(const std::string& what) { return Status(Code::corrupt, "not a valid log segment: " + what); }

}  // namespace

Result<SegmentReader> SegmentReader::open(std::span<const std::byte> bytes) {
  if (bytes.size() < kMinSegmentBytes) return corrupt("the file is too short");
  PMIO_ASSERT(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(SegmentHeader) == 0);
  const auto& header = *reinterpret_cast<const SegmentHeader*>(bytes.data());
  if (header.magic != kSegmentMagic)
    return corrupt("it does not begin with PMIOSEG1 (never used, or given back)");
  if (header.version != kFormatMajor)
    return Status(Code::unsupported, "log segment of format version " + std::to_string(header.version) +
                                         "; this pmio reads version 1: use the pmio that wrote it");
  if (header.header_crc != header_checksum(header))
    return corrupt("the checksum of its header does not match");
  if (header.incompat != 0)
    return Status(Code::unsupported,
                  "log segment with features that this pmio does not know; use a newer one");
  if (header.segment_bytes != bytes.size() || bytes.size() > kMaxSegmentBytes ||
      bytes.size() % sizeof(LogRecord) != 0)
    return corrupt("its header says " + std::to_string(header.segment_bytes) + " bytes, the file has " +
                   std::to_string(bytes.size()));
  if (header.path_length > kMaxPath) return corrupt("the path of its target is too long");
  SegmentReader reader;
  reader.base_ = bytes.data();
  reader.header_ = &header;
  reader.size_ = bytes.size();
  return reader;
}

std::string SegmentReader::path() const { return std::string(header_->path, header_->path_length); }

const LogRecord& SegmentReader::record(uint32_t index) const {
  PMIO_ASSERT(sizeof(LogRecord) * (uint64_t{index} + 1) <= size_ - kHeaderBytes);
  return *reinterpret_cast<const LogRecord*>(base_ + size_ - sizeof(LogRecord) * (uint64_t{index} + 1));
}

std::optional<OpenEntry> SegmentReader::open_entry(uint32_t index) const {
  if (index >= kMaxOpens || (header_->compat & kOpenTable) == 0) return {};
  std::optional<OpenEntry> found;
  for (const uint32_t copy : {2 * index, 2 * index + 1}) {
    OpenEntry entry;
    std::memcpy(&entry, base_ + kOpenTableAt + copy * sizeof entry, sizeof entry);
    if (entry.crc != open_checksum(entry, header_->salt, copy)) continue;
    if (entry.update == 0 || entry.rank >= entry.ranks) continue;
    if (!found || entry.update > found->update) found = entry;
  }
  return found;
}

const std::byte* SegmentReader::data(const LogRecord& record) const { return base_ + data_begin(record); }

bool SegmentReader::valid(uint32_t index, bool check_data) const {
  const uint64_t records_bytes = sizeof(LogRecord) * (uint64_t{index} + 1);
  if (records_bytes > size_ - kHeaderBytes) return false;
  const LogRecord& candidate = record(index);
  if (!geometry_holds(candidate)) return false;
  if (candidate.record_crc != record_checksum(candidate, header_->salt, index)) return false;
  const uint64_t begin = data_begin(candidate);
  const uint64_t limit = size_ - records_bytes;
  if (begin < kHeaderBytes || begin > limit || candidate.length > limit - begin) return false;
  return !check_data || candidate.data_crc == crc32c(0, base_ + begin, candidate.length);
}

uint32_t SegmentReader::count_valid(bool check_data, uint32_t from, uint64_t to) const {
  // Data of successive records do not overlap. So the check of any segment, however made, is one pass over
  // it.
  uint64_t data_end = kHeaderBytes;
  if (from > 0 && intact(from - 1)) data_end = data_begin(record(from - 1)) + record(from - 1).length;
  uint32_t count = from;
  while (count < to && valid(count, false)) {
    const LogRecord& candidate = record(count);
    if (data_begin(candidate) < data_end) break;
    if (check_data && candidate.data_crc != crc32c(0, data(candidate), candidate.length)) break;
    data_end = data_begin(candidate) + candidate.length;
    ++count;
  }
  return count;
}

uint32_t SegmentReader::fenced_records(uint32_t from) const {
  const auto slots = static_cast<uint32_t>((size_ - kHeaderBytes) / sizeof(LogRecord));
  const bool told = (header_->compat & kFencedRecords) != 0;
  uint32_t fenced = 0;
  for (uint32_t index = from; index < slots; ++index) {
    // Mostly these places hold data. One in 2^32 of them has a checksum that matches by chance.
    const LogRecord& candidate = record(index);
    const bool seals =
        is_seal(candidate, index) && candidate.record_crc == record_checksum(candidate, header_->salt, index);
    if (!seals && !intact(index)) continue;
    // A writer that tells nothing is taken to have fenced each record before it wrote the next.
    fenced = std::max(fenced, told ? std::min(candidate.fenced_records, index) : index);
  }
  return fenced;
}

Vector record_vector(const LogRecord& record) {
  Vector where;
  where.offset = static_cast<int64_t>(record.file_offset);
  where.block_length = record.block_length;
  // A reader may find any bytes at the place of a record.
  where.count = where.block_length == 0 ? 1 : record.length / where.block_length;
  where.stride = where.count == 1 ? 0 : static_cast<int64_t>(record.stride);
  return where;
}

}  // namespace pmio
