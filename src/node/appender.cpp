// Appending to this rank's log, and the segments that it goes to.
#include "node/appender.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "log/call_stamp.h"
#include "node/direct_writer.h"
#include "node/job_impl.h"
#include "node/large_pieces.h"

namespace pmio {

// A segment with less room than this is closed rather than filled up with a fragment.
constexpr uint64_t kLeastRoom = 256;

void Appender::tally(uint64_t bytes, uint64_t begin_ns, CallNumber call) {
  tally_.timer.done(bytes, begin_ns);
  tally_.bytes += bytes;
  new_bytes_ = tally_.bytes;
  if (call.goes_on) return;
  tally_.calls++;
  tally_.collective += call.independent ? 0 : 1;
}

// The clock; across nodes that of the call that is going on (Spanning::begin_call).
inline uint64_t Appender::next_stamp() {
  if (!several_nodes_) return last_stamp_ = std::max(last_stamp_ + 1, monotonic_ns());
  const uint64_t call = file_.cell->begun.load(std::memory_order_relaxed);
  if (call >= kLastCall) seal();
  return last_stamp_ = call_stamp(std::min(call, kLastCall), 0);
}

// Alone, the stamp that the call has just taken is its time.
uint64_t Appender::begin_ns(uint64_t bytes) const {
  if (!several_nodes_) return last_stamp_;
  return tally_.timer.due(bytes) ? monotonic_ns() : 0;
}

Status Appender::publish(uint64_t stamp, uint64_t end) {
  Owned& last = owned_.back();
  if (Status status = last.writer.fence(); !status.ok()) {
    unpublished_ = 0;
    return status;
  }
  SegmentCell& segment = file_.cell->segments[last.cell];
  // What a merge relies on that looks for the horizon among a segment's records.
  PMIO_ASSERT(several_nodes_ || stamp >= segment.max_stamp.load(std::memory_order_relaxed));
  segment.max_stamp.store(stamp, std::memory_order_relaxed);
  // Release, in this order: who sees the count sees the records; who sees `appended` sees the count.
  segment.published.store(last.writer.records(), std::memory_order_release);
  tally_.records += unpublished_;
  file_.cell->appended.store(segment.first.load(std::memory_order_relaxed) + last.writer.records(),
                             std::memory_order_release);
  logged_end_.raise(end);
  unpublished_ = 0;
  return {};
}

void Appender::note(uint64_t begin, uint64_t end) {
  unpublished_++;
  SegmentCell& segment = file_.cell->segments[owned_.back().cell];
  if (begin < last_end_) note_begin(segment, begin);
  if (end > segment.end.load(std::memory_order_relaxed)) segment.end.store(end, std::memory_order_relaxed);
  last_end_ = end;
}

void Appender::note_begin(SegmentCell& segment, uint64_t begin) {
  const uint64_t least = segment.begin.load(std::memory_order_relaxed);
  if (least != kNothingLogged) segment.unordered.store(1, std::memory_order_relaxed);
  if (begin < least) segment.begin.store(begin, std::memory_order_relaxed);
}

void Appender::seal() {
  if (open_) {
    file_.cell->segments[owned_.back().cell].sealed.store(1, std::memory_order_release);
    // Only evidence of what was acknowledged: if it cannot be stored, nothing is lost.
    (void)owned_.back().writer.seal();
  }
  open_ = false;
}

inline bool Appender::has_room() const { return open_ && owned_.back().writer.room_bytes() >= kLeastRoom; }

Status Appender::make_room(Patience patience, bool* found) {
  *found = has_room();
  if (*found) [[likely]]
    return {};
  is_slow();
  seal();
  const WaitsInAppend waits(waits_);
  if (takes_nothing(patience)) return {};
  const Result<bool> made = find_segment(patience);
  *found = made.ok() && made.value();
  return made.status();
}

Status Appender::append(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call) {
  if (bytes == 0) return {};
  const LockGuard lock(mutex);
  const uint64_t stamp = next_stamp();
  if (bytes >= large_pieces_.least_bytes()) [[unlikely]] {
    bool written = false;
    PMIO_TRY(append_large(offset, data, bytes, call, &written));
    if (written) return {};
  }
  const uint64_t began_ns = begin_ns(bytes);
  for (uint64_t left = bytes; left > 0;) {
    bool found = false;
    PMIO_TRY(make_room(Patience::full, &found));
    if (!found) {
      const Pattern whole = Pattern::bytes(left);
      PatternCursor to(whole, static_cast<int64_t>(offset), 0), from(whole, 0, 0);
      PMIO_TRY(direct_writer_.write(to, from, data, left));
      break;
    }
    const uint64_t n = std::min(left, writer().room_bytes());
    writer().append(Vector{static_cast<int64_t>(offset), n, 0, 1}, data, stamp, call, n == left);
    note(offset, offset + n);
    offset += n;
    data += n;
    left -= n;
    PMIO_TRY(publish(stamp, offset));
    if (left > 0) interrupted(call);
  }
  finished(call);
  tally(bytes, began_ns, call);
  if (bytes >= large_pieces_.least_bytes()) [[unlikely]]
    large_pieces_.end_piece(monotonic_ns());
  return {};
}

Status Appender::append(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                        CallNumber call) {
  if (bytes == 0) return {};
  const LockGuard lock(mutex);
  const uint64_t stamp = next_stamp();
  uint64_t began_ns = begin_ns(bytes);
  LargeBytes large;
  uint64_t end = 0;
  for (uint64_t left = bytes; left > 0;) {
    Vector where = file.next(left);
    if (where.block_length >= large_pieces_.least_bytes()) [[unlikely]] {
      bool written = false;
      const Status status = write_large(where, memory, buffer, call, &large, &written);
      if (!status.ok() && unpublished_ > 0) (void)publish(stamp, end);
      PMIO_TRY(status);
      if (written) {
        left -= where.bytes();
        continue;
      }
    }
    if (!has_room()) {
      // What this call has put into the full segment is published before another one is opened.
      if (unpublished_ > 0) {
        PMIO_TRY(publish(stamp, end));
        interrupted(call);
      }
      bool found = false;
      PMIO_TRY(make_room(Patience::full, &found));
      if (!found) {
        file.rewind(where.bytes());
        PMIO_TRY(direct_writer_.write(file, memory, buffer, left));
        break;
      }
    }
    if (const uint64_t room = writer().room_bytes(); where.bytes() > room) {
      file.rewind(where.bytes());
      where = file.next(room);
    }
    left -= where.bytes();
    writer().append(where, memory, buffer, stamp, call, left == 0 && !call.goes_on);
    note(static_cast<uint64_t>(where.offset), static_cast<uint64_t>(where.end()));
    end = std::max(end, static_cast<uint64_t>(where.end()));
  }
  if (unpublished_ > 0) PMIO_TRY(publish(stamp, end));
  finished_or_not(call);
  if (large.bytes > 0) [[unlikely]]
    tally_large(bytes, large, call);
  if (began_ns != 0) began_ns += large.ns;
  if (large.bytes < bytes) tally(bytes - large.bytes, began_ns, call);
  if (large.any && large.bytes < bytes) [[unlikely]]
    large_pieces_.end_piece(monotonic_ns());
  return {};
}

Status Appender::sync_segments() {
  for (auto& owned : owned_) PMIO_TRY(owned.segment->region->sync());
  return {};
}

void Appender::add_up(bool waits) {
  if (!lock_or_try(mutex, waits)) return;
  const Tally tally = std::exchange(tally_, {});
  const Calls past_log = std::exchange(past_log_, {});
  const uint64_t past_log_ns = std::exchange(past_log_ns_, 0);
  new_bytes_ = 0;
  mutex.unlock();
  Counters& all = file_.job->member->counters();
  count(all.append_calls, tally.calls);
  count(all.append_bytes, tally.bytes);
  count(all.append_records, tally.records);
  const uint64_t collective = tally.collective + past_log.collective;
  count(all.collective_writes, collective);
  count(all.independent_writes, tally.calls + past_log.calls - collective);
  count(all.append_ns, tally.timer.total_ns() + tally.exchange_ns);
  count(all.append_timed_calls, tally.timer.timed_calls() + tally.exchanged);
  if (!FileStatistics::on()) return;
  FileNumbers done;
  done.collective_writes = collective;
  done.independent_writes = tally.calls + past_log.calls - collective;
  done.logged_bytes = tally.bytes;
  done.past_log_bytes = past_log.bytes;
  done.written_bytes = tally.bytes + past_log.bytes;
  done.write_ns = tally.timer.total_ns() + tally.exchange_ns + past_log_ns;
  FileStatistics::of_process().add(file_.path, done);
}

Appender::Calls Appender::calls() {
  const LockGuard lock(mutex);
  return {tally_.calls + past_log_.calls, tally_.collective + past_log_.collective,
          tally_.bytes + past_log_.bytes};
}

// Of what cannot be copied the other ranks see nothing: then this one drains it.
void Appender::give_up() {
  if (has_given_up()) return;
  if (waits_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return give_up_held();
  if (!mutex.try_lock()) return;
  give_up_held();
  mutex.unlock();
}

void Appender::give_up_held() PMIO_NO_THREAD_SAFETY_ANALYSIS {
  seal();
  Job::Impl& job = *file_.job;
  const bool shared = file_.control->users.load(std::memory_order_relaxed) > 1;
  for (const Owned& each : owned_) {
    SegmentCell& segment = file_.cell->segments[each.cell];
    const Region& region = *each.segment->region;
    job.map.know(job.member->seat(), each.segment->slot, region);
    const uint32_t from = segment.drained.load(std::memory_order_acquire);
    const uint32_t to = segment.published.load(std::memory_order_relaxed);
    int descriptor = -1;
    if (!shared || from == to ||
        !job.lost_log.copy(each.segment->slot, each.writer.salt(), region, from, to, &descriptor).ok())
      continue;
    file_.cell->copies.store(descriptor + 1, std::memory_order_release);
  }
  has_given_up_.store(true, std::memory_order_release);
}

}  // namespace pmio
