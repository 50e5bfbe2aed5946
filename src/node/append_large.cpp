// Pieces of a call that go straight to the file (node/large_pieces.h).
#include <algorithm>

#include "base/clock.h"
#include "log/format.h"
#include "node/appender.h"
#include "node/job_impl.h"
#include "node/large_pieces.h"

namespace pmio {

// In the open segment, and then in those that are free.
bool Appender::has_warm_room(uint64_t bytes) const {
  const SegmentPool& pool = file_.job->member->pool();
  uint64_t warm = 0;
  if (open_) {
    const SegmentWriter& open = owned_.back().writer;
    const uint64_t room = open.room_bytes(), begin = kHeaderBytes + open.data_bytes();
    // As it was when it was taken into use: what the writer touches itself is not warm.
    const uint64_t touched = owned_.back().segment->touched.front();
    warm = pool.is_of_huge_pages() ? room : std::min(room, touched - std::min(touched, begin));
    if (bytes <= warm) return true;
    if (warm < room) return false;
  }
  return bytes <= warm + pool.warm_bytes();
}

bool Appender::is_cold_for(uint64_t bytes) {
  if (large_pieces_.least_bytes() > kDirectFrom.warm) return false;
  const LockGuard lock(mutex);
  return !has_warm_room(bytes);
}

bool Appender::goes_straight(const Vector& where) const {
  const bool if_warm = large_pieces_.suits(where.block_length, true);
  const bool if_cold = large_pieces_.suits(where.block_length, false);
  return if_warm == if_cold ? if_warm : (has_warm_room(where.bytes()) ? if_warm : if_cold);
}

Status Appender::write_large(const Vector& where, PatternCursor& memory, const std::byte* buffer,
                             CallNumber call, LargeBytes* large, bool* written) {
  const uint64_t began_ns = monotonic_ns();
  large_pieces_.begin_piece(where.bytes(), began_ns);
  large->any = true;
  if (!goes_straight(where)) return {};
  const WaitsInAppend waits(waits_);
  // Before anything of it can be in the file.
  if (call.open != 0)
    file_.cell->opens[call.open - 1].straight.store(progress_of(call.number, call.independent),
                                                    std::memory_order_relaxed);
  PMIO_TRY(large_pieces_.write(where, memory, buffer, written));
  if (!*written) return {};
  large->bytes += where.bytes();
  const uint64_t now_ns = monotonic_ns();
  large->ns += now_ns - began_ns;
  large_pieces_.end_piece(now_ns);
  return {};
}

Status Appender::append_large(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call,
                              bool* written) {
  const Pattern whole = Pattern::bytes(bytes);
  PatternCursor from(whole, 0, 0);
  LargeBytes large;
  PMIO_TRY(write_large({static_cast<int64_t>(offset), bytes, 0, 1}, from, data, call, &large, written));
  if (!*written) return {};
  finished_or_not(call);
  tally_large(bytes, large, call);
  return {};
}

void Appender::count_past_log(uint64_t bytes, uint64_t ns, bool is_call, CallNumber call) {
  Counters& all = file_.job->member->counters();
  if (is_call) {
    past_log_.calls++;
    past_log_.collective += call.independent ? 0 : 1;
    count(all.direct_calls);
  }
  past_log_.bytes += bytes;
  past_log_ns_ += ns;
  count(all.direct_bytes, bytes);
  count(all.direct_ns, ns);
}

Status Appender::write_past_log(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                                uint64_t bytes, bool is_call, CallNumber call) {
  const uint64_t begin_ns = monotonic_ns();
  PMIO_TRY(direct_writer_.write(file, memory, buffer, bytes));
  const LockGuard lock(mutex);
  count_past_log(bytes, monotonic_ns() - begin_ns, is_call && !call.goes_on, call);
  return {};
}

// Of a call of so many bytes. No record of it tells that the call is over: the table does, if there is one.
void Appender::tally_large(uint64_t bytes, const LargeBytes& large, CallNumber call) {
  count_past_log(large.bytes, large.ns, large.bytes == bytes && !call.goes_on, call);
  if (call.open == 0 || call.independent || call.goes_on || !advance_table(call)) return;
  // Only evidence of what was acknowledged: if it cannot be stored, nothing is lost.
  (void)owned_.back().writer.fence();
}

}  // namespace pmio
