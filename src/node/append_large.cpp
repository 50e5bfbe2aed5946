// Pieces of a call that go straight to the file (node/large_pieces.h).
#include "base/clock.h"
#include "node/appender.h"
#include "node/job_impl.h"
#include "node/large_pieces.h"

namespace pmio {

// Room that is left in a segment, or a whole one that is free.
bool Appender::has_warm_room() const {
  if (open_ && owned_.back().segment->touched.front() > 0) return true;
  return file_.job->member->pool().has_warm();
}

Status Appender::write_large(const Vector& where, PatternCursor& memory, const std::byte* buffer,
                             CallNumber call, LargeBytes* large, bool* written) {
  if (!large_pieces_.suits(where.block_length, has_warm_room())) return {};
  const WaitsInAppend waits(waits_);
  // Before anything of it can be in the file.
  if (call.open != 0)
    file_.cell->opens[call.open - 1].straight.store(progress_of(call.number, call.independent),
                                                    std::memory_order_relaxed);
  const uint64_t began_ns = monotonic_ns();
  PMIO_TRY(large_pieces_.write(where, memory, buffer, written));
  if (!*written) return {};
  large->bytes += where.bytes();
  large->ns += monotonic_ns() - began_ns;
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

// Of a call of so many bytes. No record of it tells that the call is over: the table does, if there is one.
void Appender::tally_large(uint64_t bytes, const LargeBytes& large, CallNumber call) {
  Counters& all = file_.job->member->counters();
  if (large.bytes == bytes) {
    past_log_.calls++;
    past_log_.collective += call.independent ? 0 : 1;
    count(all.direct_calls);
  }
  past_log_.bytes += large.bytes;
  count(all.direct_bytes, large.bytes);
  count(all.direct_ns, large.ns);
  if (call.open == 0 || call.independent || call.goes_on || !advance_table(call)) return;
  // Only evidence of what was acknowledged: if it cannot be stored, nothing is lost.
  (void)owned_.back().writer.fence();
}

}  // namespace pmio
