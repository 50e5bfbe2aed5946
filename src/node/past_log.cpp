// Writes that are not logged. Independent ones of a file of several nodes go to the file after what the other
// nodes have there (meet_nodes), and count as unsynced (node/unsynced.h). Those of a job that logs nothing
// any more (Job::Impl::past_log) go there behind all that is in the log.
#include <algorithm>
#include <optional>

#include "drain/blocks.h"
#include "node/file_impl.h"

namespace pmio {

constexpr uint64_t kStagingBytes = 1 << 20;

// Writes the next where.bytes() of memory to a place in the file.
Status File::Impl::write_vector(const Vector& where, PatternCursor& memory, const std::byte* buffer) {
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
      PMIO_TRY(target->write(at, data, n));
      at += n;
      left -= n;
    }
  }
  raise_logged_end(static_cast<uint64_t>(where.end()));
  return {};
}

// Before the drain. No round reads what lies between its own pieces and writes it again, not even one that
// had begun under another rule.
void File::Impl::begin_past_log() {
  if (goes_past_log.exchange(true, std::memory_order_relaxed)) return;
  control->written_aside.store(1, std::memory_order_seq_cst);
  drainer->note_foreign_write();
}

Status File::Impl::write_through(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                                 uint64_t bytes) {
  std::optional<WaitsInAppend> waits;
  if (neighbours == nullptr) {
    waits.emplace(waits_in_append);
    begin_past_log();
    PMIO_TRY(drain_log(false));
  }
  std::vector<Vector> ranges;
  while (bytes > 0) {
    ranges.clear();
    while (bytes > 0 && ranges.size() < kMostRangesAsked) {
      ranges.push_back(file.next(bytes));
      bytes -= ranges.back().bytes();
    }
    control->unsynced.begin_write();
    const Status written = write_batch(ranges, memory, buffer);
    control->writes_past_log.fetch_add(1, std::memory_order_seq_cst);
    const Status noted = control->unsynced.end_write(ranges, *target);
    PMIO_TRY(written);
    PMIO_TRY(noted);
  }
  if (neighbours == nullptr) {
    const RobustLock lock(control->index_mutex);
    conceal_all(*control);
  }
  // A write is to survive what a logged one survives.
  return job->outlives_node() ? control->unsynced.sync(*target) : Status();
}

Status File::Impl::write_batch(std::span<const Vector> ranges, PatternCursor& memory,
                               const std::byte* buffer) {
  uint64_t end = 0;
  if (neighbours != nullptr) PMIO_TRY(meet_nodes(ranges, true, &end));
  for (const Vector& where : ranges) PMIO_TRY(write_vector(where, memory, buffer));
  return {};
}

}  // namespace pmio
