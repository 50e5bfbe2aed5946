#include "recover/spanning.h"

#include <algorithm>

namespace pmio {
namespace {

// How many records from the start have a stamp below `stamp`. Stamps ascend in a segment.
uint32_t earlier(const SegmentInfo& segment, uint64_t stamp) {
  uint32_t n = 0;
  while (n < segment.records && segment.reader.record(n).stamp_ns < stamp) n++;
  return n;
}

bool can_be_read(const SegmentInfo& segment, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    if (!segment.reader.valid(i, true)) return false;
  }
  return true;
}

}  // namespace

bool needs_journal(const FileInfo& file) {
  if (file.recovered) return false;
  return file.undrained_records() > 0 || (!file.round_ended && file.ledger_horizon > 0);
}

Status count_from(uint64_t base, FileInfo* file) {
  for (SegmentInfo& segment : file->segments) {
    const uint32_t before = segment.drained;
    if (file->ledger_horizon < base) {
      // Of the base's own stamp a part may be in the file: no matter, nothing later is.
      segment.drained = std::max(before, earlier(segment, base));
    } else if (file->ledger_horizon > base) {
      segment.drained = std::min(before, earlier(segment, base + 1));
      if (!can_be_read(segment, segment.drained, before))
        return {Code::corrupt,
                "a round of the nodes is half finished, and what this one drained in it cannot be "
                "read any more"};
    }
    segment.undrained_bytes = 0;
    for (uint32_t i = segment.drained; i < segment.records; i++)
      segment.undrained_bytes += segment.reader.record(i).length;
  }
  return {};
}

std::vector<Journal::Claim> claims_of(const FileInfo& file, uint64_t base) {
  std::vector<Journal::Claim> claims;
  claims.reserve(file.undrained_records());
  for (const SegmentInfo& segment : file.segments) {
    for (uint32_t i = 0; i < segment.records; i++) {
      const LogRecord& record = segment.reader.record(i);
      if (i < segment.drained && (record.stamp_ns < base || !segment.reader.intact(i))) continue;
      claims.push_back({record_vector(record), record.stamp_ns, segment.rank});
    }
  }
  return claims;
}

}  // namespace pmio
