#include "log/format.h"

#include "base/checksum.h"

namespace pmio {

namespace {

const std::byte* bytes_of(const void* object) { return static_cast<const std::byte*>(object); }

}  // namespace

// The multiplier is odd, so no two records of a segment share a seed. The seeds of two salts differ either at
// every index or at none, and a CRC tells all seeds apart. A writer that compares one pair of seeds therefore
// knows that no record of the generation before can match.
static uint32_t seed_of(uint32_t seed_of_salt, uint32_t index) {
  return seed_of_salt ^ (index * 0x9e3779b1u);
}

uint32_t salt_seed(uint64_t salt) { return crc32c(0, &salt, sizeof salt); }

uint32_t record_seed(uint64_t salt, uint32_t index) { return seed_of(salt_seed(salt), index); }

uint32_t record_checksum_seeded(const std::byte* record, uint32_t seed_of_salt, uint32_t index) {
  constexpr size_t kCovered = offsetof(LogRecord, data_crc);
  return crc32c(seed_of(seed_of_salt, index), record + kCovered, sizeof(LogRecord) - kCovered);
}

uint32_t record_checksum(const LogRecord& record, uint64_t salt, uint32_t index) {
  return record_checksum_seeded(bytes_of(&record), salt_seed(salt), index);
}

uint32_t header_checksum(const SegmentHeader& header) {
  constexpr size_t kCovered = offsetof(SegmentHeader, compat);
  return crc32c(0, bytes_of(&header) + kCovered, sizeof header - kCovered);
}

// The indices of records stay far below these.
uint32_t open_checksum(const OpenEntry& entry, uint64_t salt, uint32_t copy) {
  constexpr size_t kCovered = offsetof(OpenEntry, update);
  return crc32c(record_seed(salt, ~copy), bytes_of(&entry) + kCovered, sizeof entry - kCovered);
}

}  // namespace pmio
