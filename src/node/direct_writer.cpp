#include "node/direct_writer.h"

#include <algorithm>
#include <vector>

#include "drain/blocks.h"
#include "node/job_impl.h"

namespace pmio {

constexpr uint64_t kStagingBytes = 1 << 20;

// Writes the next where.bytes() of memory to a place in the file.
Status DirectWriter::write_vector(const Vector& where, PatternCursor& memory, const std::byte* buffer) {
  std::vector<std::byte> staging;
  for (uint64_t block = 0; block < where.count; block++) {
    uint64_t at = block_begin(where, block);
    for (uint64_t left = where.block_length; left > 0;) {
      const PatternCursor::Piece piece = memory.next_piece(left);
      uint64_t n = piece.length;
      const std::byte* data = buffer + piece.offset;
      if (n < left && n < kStagingBytes) {  // small pieces are gathered first
        staging.assign(data, data + n);
        while (n < left && n < kStagingBytes) {
          const PatternCursor::Piece more = memory.next_piece(std::min(left - n, kStagingBytes - n));
          staging.insert(staging.end(), buffer + more.offset, buffer + more.offset + more.length);
          n += more.length;
        }
        data = staging.data();
      }
      PMIO_TRY(file_.target->write(at, data, n));
      at += n;
      left -= n;
    }
  }
  logged_end_.raise(static_cast<uint64_t>(where.end()));
  return {};
}

Status DirectWriter::write_batch(std::span<const Vector> ranges, PatternCursor& memory,
                                 const std::byte* buffer) {
  PMIO_TRY(reach_.before_direct_write(ranges));
  for (const Vector& where : ranges) PMIO_TRY(write_vector(where, memory, buffer));
  return {};
}

Status DirectWriter::write(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                           uint64_t bytes) {
  FileControl& control = *file_.control;
  PMIO_TRY(reach_.begin_direct_write());
  std::vector<Vector> ranges;
  while (bytes > 0) {
    ranges.clear();
    while (bytes > 0 && ranges.size() < kMostRangesAsked) {
      ranges.push_back(file.next(bytes));
      bytes -= ranges.back().bytes();
    }
    control.writes_to_sync.begin_write();
    const Status written = write_batch(ranges, memory, buffer);
    control.writes_past_log.fetch_add(1, std::memory_order_seq_cst);
    const Status noted = control.writes_to_sync.end_write(ranges, *file_.target);
    PMIO_TRY(written);
    PMIO_TRY(noted);
  }
  reach_.end_direct_write();
  // A write is to survive what a logged one survives.
  return file_.job->member->outlives_node() ? control.writes_to_sync.sync(*file_.target) : Status();
}

}  // namespace pmio
