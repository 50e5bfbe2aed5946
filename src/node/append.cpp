// Appending to this rank's log: the hot path. No communication, no lock that another rank could hold, no
// system call and no allocation, but when a segment is full.
#include <algorithm>
#include <utility>

#include "base/atomic_max.h"
#include "base/clock.h"
#include "base/prefetch.h"
#include "log/call_stamp.h"
#include "node/background.h"
#include "node/file_impl.h"

namespace pmio {

// A segment with less room than this is closed rather than filled up with a fragment.
constexpr uint64_t kLeastRoom = 256;

void File::Impl::tally(uint64_t bytes, uint64_t begin_ns, CallNumber call) {
  appends.timer.done(bytes, begin_ns);
  appends.calls++;
  appends.bytes += bytes;
  appends.collective += call.independent ? 0 : 1;
}

// The clock; across nodes that of the call that is going on (File::begin_call).
uint64_t File::Impl::next_stamp() {
  if (neighbours == nullptr) return last_stamp = std::max(last_stamp + 1, monotonic_ns());
  const uint64_t call = cell->begun.load(std::memory_order_relaxed);
  if (call >= kLastCall) seal();
  return last_stamp = call_stamp(std::min(call, kLastCall), 0);
}

// When the call that has just taken its stamp began, for tally; 0 where that does not want to know.
uint64_t File::Impl::begin_ns(uint64_t bytes) const {
  if (neighbours == nullptr) return last_stamp;
  return appends.timer.due(bytes) ? monotonic_ns() : 0;
}

Status File::Impl::publish(uint64_t stamp, uint64_t end) {
  Owned& last = owned.back();
  if (Status status = last.writer.fence(); !status.ok()) {
    unpublished = 0;
    return status;
  }
  SegmentCell& segment = cell->segments[last.cell];
  segment.max_stamp.store(stamp, std::memory_order_relaxed);
  // Release, in this order: who sees the count sees the records; who sees `appended` sees the count.
  segment.published.store(last.writer.records(), std::memory_order_release);
  appends.records += unpublished;
  cell->appended.store(segment.first.load(std::memory_order_relaxed) + last.writer.records(),
                       std::memory_order_release);
  raise_logged_end(end);
  unpublished = 0;
  return {};
}

// Behind `published`: where the rank does not know of a truncation yet, the record is found by that.
void File::Impl::raise_logged_end(uint64_t end) {
  if (cell->truncations.load(std::memory_order_relaxed) !=
      control->truncations.load(std::memory_order_relaxed)) [[unlikely]] {
    begin_logged_end();
    if (neighbours == nullptr) return;  // else it may have been written through
  }
  // Across nodes other threads of this rank may write through meanwhile.
  if (neighbours != nullptr) return raise_to(cell->logged_end, end);
  if (end > cell->logged_end.load(std::memory_order_relaxed))
    cell->logged_end.store(end, std::memory_order_release);
}

// After a truncation: of what was drained before it nothing counts, of what is still to come all.
void File::Impl::begin_logged_end() {
  const std::lock_guard lock(logged_end_mutex);
  const uint64_t truncations = control->truncations.load(std::memory_order_acquire);
  if (cell->truncations.load(std::memory_order_relaxed) == truncations) return;
  cell->logged_end.store(index->undrained_end(job->options.rank), std::memory_order_release);
  cell->truncations.store(truncations, std::memory_order_release);
}

void File::Impl::note(uint64_t begin, uint64_t end) {
  unpublished++;
  SegmentCell& segment = cell->segments[owned.back().cell];
  if (begin < last_end) note_begin(segment, begin);
  if (end > segment.end.load(std::memory_order_relaxed)) segment.end.store(end, std::memory_order_relaxed);
  last_end = end;
}

void File::Impl::note_begin(SegmentCell& segment, uint64_t begin) {
  const uint64_t least = segment.begin.load(std::memory_order_relaxed);
  if (least != kNothingLogged) segment.unordered.store(1, std::memory_order_relaxed);
  if (begin < least) segment.begin.store(begin, std::memory_order_relaxed);
}

void File::Impl::seal() {
  if (open) {
    cell->segments[owned.back().cell].sealed.store(1, std::memory_order_release);
    // Only evidence of what was acknowledged: where it cannot be stored, nothing is lost.
    (void)owned.back().writer.seal();
  }
  open = false;
}

bool File::Impl::has_room() const { return open && owned.back().writer.room_bytes() >= kLeastRoom; }

Status File::Impl::make_room(bool* held_up) {
  if (has_room()) [[likely]]
    return {};
  appends.timer.slow();
  seal();
  const WaitsInAppend waits(waits_in_append);
  if (job->lost_log->is_known()) give_up_log();
  *held_up = job->past_log.load(std::memory_order_relaxed) ||
             (neighbours != nullptr && stamp_calls(last_stamp) >= kLastCall);  // no later stamps
  return *held_up ? Status() : new_segment(held_up);
}

// A cell for another segment; none: all are in use.
std::optional<uint32_t> File::Impl::free_cell() const {
  for (uint32_t i = 0; i < kMaxSegments; i++)
    if (cell->segments[i].salt.load(std::memory_order_relaxed) == 0) return i;
  return {};
}

// *held_up: the other nodes' ranks have not come so far that anything of these could be given back.
Status File::Impl::free_a_cell(bool* held_up) {
  do {
    PMIO_TRY(drain_log(true));
    if (free_oldest_drained()) return {};
    // Another round of all nodes is just ending, in which nothing may be reused.
  } while (neighbours != nullptr && control->closing.load(std::memory_order_acquire) != 0);
  if (neighbours == nullptr) return Status(Code::busy, "too many segments of one file are in use");
  *held_up = true;
  return {};
}

namespace {

// For a segment, while there is none that is free.
class WaitForRoom {
 public:
  explicit WaitForRoom(Counters& counters) : counters_(counters) {}
  ~WaitForRoom() { over(); }
  WaitForRoom(const WaitForRoom&) = delete;
  WaitForRoom& operator=(const WaitForRoom&) = delete;
  void begin() {
    if (from_ == 0) from_ = monotonic_ns();
  }
  void over() {
    if (from_ != 0) count(counters_.append_wait_ns, monotonic_ns() - std::exchange(from_, 0));
  }

 private:
  Counters& counters_;
  uint64_t from_ = 0;
};

}  // namespace

Status File::Impl::new_segment(bool* held_up) {
  WaitForRoom wait(job->counters);
  if (!free_cell()) {
    wait.begin();
    PMIO_TRY(free_a_cell(held_up));
  }
  if (*held_up) return {};
  for (;;) {
    const uint64_t releases = job->pool->releases();
    auto segment = job->acquire_segment();
    if (segment.ok()) {
      wait.over();
      if (job->background && job->pool->wants_attention()) job->background->wake();
      return attach_segment(*segment);
    }
    if (*held_up = job->lost_log->look(*control); *held_up) return {};
    if (segment.status().code() != Code::no_space) return segment.status();
    wait.begin();
    if (free_oldest_drained()) continue;
    // Back-pressure: nothing is drained yet, so this rank drains (or helps who is draining) before it goes
    // on.
    if (!owned.empty()) {
      PMIO_TRY(drain_log(true));
      if (free_oldest_drained()) continue;
    }
    if (job->recycle_elsewhere(*this)) continue;
    PMIO_TRY(job->drain_all());
    if (job->recycle_elsewhere(*this)) continue;
    if (neighbours != nullptr && owned.empty()) {
      *held_up = true;
      return {};
    }
    // Other threads hold them all, or did when this one looked: to append, to close a file, to touch their
    // pages. None of them waits for this one.
    if (!job->pool->await_release(releases)) return segment.status();
  }
}

Status File::Impl::find_room(bool* found) {
  *found = has_room();
  if (*found) return {};
  appends.timer.slow();
  seal();
  const WaitsInAppend waits(waits_in_append);
  if (job->lost_log->is_known()) give_up_log();
  if (job->past_log.load(std::memory_order_relaxed)) return {};
  WaitForRoom wait(job->counters);
  for (bool drained = false;; drained = true) {
    const bool has_cell = free_cell().has_value();
    if (has_cell) {
      auto segment = job->acquire_segment();
      if (segment.ok()) {
        *found = true;
        wait.over();
        if (job->background && job->pool->wants_attention()) job->background->wake();
        return attach_segment(*segment);
      }
      if (job->lost_log->look(*control)) return {};
      if (segment.status().code() != Code::no_space) return segment.status();
    }
    wait.begin();
    if (free_oldest_drained() || (has_cell && job->recycle_elsewhere(*this))) continue;
    if (drained) return {};
    PMIO_TRY(job->drain_all());
  }
}

Status File::Impl::attach_segment(SegmentPool::Segment* segment) {
  const uint32_t free_cell = *this->free_cell();  // which only this rank takes
  auto writer =
      SegmentWriter::format(*segment->region, {job->options.id, job->options.rank, segment->slot,
                                               job->options.ranks, identity, path, job->durable_fences()});
  if (!writer.ok()) {
    job->pool->release(segment);
    return writer.status();
  }
  count(job->counters.segments_formatted);
  if (mark.blank()) drainer->note_before_first_write();
  SegmentCell& shared = cell->segments[free_cell];
  shared.slot.store(segment->slot, std::memory_order_relaxed);
  shared.max_stamp.store(0, std::memory_order_relaxed);
  shared.published.store(0, std::memory_order_relaxed);
  shared.merged.store(0, std::memory_order_relaxed);
  shared.drained.store(0, std::memory_order_relaxed);
  shared.sealed.store(0, std::memory_order_relaxed);
  shared.unordered.store(0, std::memory_order_relaxed);
  shared.first.store(cell->appended.load(std::memory_order_relaxed), std::memory_order_relaxed);
  shared.begin.store(kNothingLogged, std::memory_order_relaxed);
  shared.end.store(0, std::memory_order_relaxed);
  last_end = UINT64_MAX;
  // Release: who sees the salt sees the empty cell behind it.
  shared.salt.store(writer->salt(), std::memory_order_release);
  if (!counts_as_log && job->options.logs_in_use != nullptr) {
    counts_as_log = true;
    job->options.logs_in_use->fetch_add(1, std::memory_order_release);
  }
  if (cell->cells.load(std::memory_order_relaxed) <= free_cell) {
    cell->cells.store(free_cell + 1, std::memory_order_release);
    // Release: who reads the raised count sees the cell.
    if (free_cell == 0 && job->options.files_logged != nullptr)
      job->options.files_logged->fetch_add(1, std::memory_order_release);
  }
  owned.push_back(Owned{segment, std::move(writer).value(), free_cell});
  job->note_fill();
  open = true;
  declare_all();
  return {};
}

void File::Impl::detach(size_t position) {
  const Owned gone = owned[position];
  if (position + 1 == owned.size()) {
    open = false;
    declared = 0;
    table_cell.store(kNoCell, std::memory_order_relaxed);
  }
  owned.erase(owned.begin() + static_cast<ptrdiff_t>(position));
  SegmentCell& shared = cell->segments[gone.cell];
  // Nothing of a segment that is given back may be replayed, and the next ledger does not tell of it any
  // more: before its cell is let go, in case this process dies in between. Nobody reads the header of a
  // segment that is in use. A failure here is not an error of the program's: the segment's next generation
  // has another salt.
  (void)SegmentWriter::invalidate(*gone.segment->region);
  {
    RobustLock lock(control->index_mutex);
    const uint64_t stamp = shared.max_stamp.load(std::memory_order_relaxed);
    if (control->floor.load(std::memory_order_relaxed) < stamp) {
      control->floor.store(stamp, std::memory_order_release);
    }
    // Before any byte of the segment changes: readers that copied from it look at this afterwards.
    control->evictions.fetch_add(1, std::memory_order_seq_cst);
    shared.salt.store(0, std::memory_order_release);
  }
  gone.segment->warm = true;
  count(job->counters.segments_recycled);
  job->pool->release(gone.segment);
}

uint32_t File::Impl::undrained_segments() const {
  uint32_t segments = 0;
  for (uint32_t i = 0; i < cell->cells.load(std::memory_order_acquire); i++) {
    const SegmentCell& shared = cell->segments[i];
    if (shared.salt.load(std::memory_order_acquire) == 0) continue;
    const auto drained = shared.drained.load(std::memory_order_relaxed);
    segments += drained == 0 || drained < shared.published.load(std::memory_order_relaxed);
  }
  return segments;
}

bool File::Impl::free_oldest_drained() {
  for (size_t i = 0; i < owned.size(); i++) {
    const SegmentCell& shared = cell->segments[owned[i].cell];
    if (shared.drained.load(std::memory_order_acquire) != owned[i].writer.records()) continue;
    // Loaded behind `drained`, which is stored behind it.
    if (neighbours != nullptr && control->closing.load(std::memory_order_acquire) != 0) return false;
    detach(i);
    return true;
  }
  return false;
}

Status File::append(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call) {
  Impl& impl = *impl_;
  if (bytes == 0) return {};
  std::lock_guard lock(impl.append_mutex);
  const uint64_t stamp = impl.next_stamp();
  const uint64_t begin_ns = impl.begin_ns(bytes);
  for (uint64_t left = bytes; left > 0;) {
    bool held_up = false;
    PMIO_TRY(impl.make_room(&held_up));
    if (held_up) {
      const Pattern whole = Pattern::bytes(left);
      PatternCursor to(whole, static_cast<int64_t>(offset), 0), from(whole, 0, 0);
      PMIO_TRY(impl.write_through(to, from, data, left));
      break;
    }
    SegmentWriter& writer = impl.owned.back().writer;
    const uint64_t n = std::min(left, writer.room_bytes());
    writer.append(Vector{static_cast<int64_t>(offset), n, 0, 1}, data, stamp, call, n == left);
    impl.note(offset, offset + n);
    offset += n;
    data += n;
    left -= n;
    PMIO_TRY(impl.publish(stamp, offset));
    if (left > 0) impl.interrupted(call);
  }
  impl.finished(call);
  impl.tally(bytes, begin_ns, call);
  return {};
}

Status File::append(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                    CallNumber call) {
  Impl& impl = *impl_;
  if (bytes == 0) return {};
  std::lock_guard lock(impl.append_mutex);
  const uint64_t stamp = impl.next_stamp();
  const uint64_t begin_ns = impl.begin_ns(bytes);
  uint64_t end = 0;
  for (uint64_t left = bytes; left > 0;) {
    if (!impl.has_room()) {
      // What this call has put into the full segment is published before another one is opened.
      if (impl.unpublished > 0) {
        PMIO_TRY(impl.publish(stamp, end));
        impl.interrupted(call);
      }
      bool held_up = false;
      PMIO_TRY(impl.make_room(&held_up));
      if (held_up) {
        PMIO_TRY(impl.write_through(file, memory, buffer, left));
        break;
      }
    }
    SegmentWriter& writer = impl.owned.back().writer;
    const Vector where = file.next(std::min(left, writer.room_bytes()));
    left -= where.bytes();
    writer.append(where, memory, buffer, stamp, call, left == 0 && !call.goes_on);
    impl.note(static_cast<uint64_t>(where.offset), static_cast<uint64_t>(where.end()));
    end = std::max(end, static_cast<uint64_t>(where.end()));
  }
  if (impl.unpublished > 0) PMIO_TRY(impl.publish(stamp, end));
  impl.finished_or_not(call);
  impl.tally(bytes, begin_ns, call);
  return {};
}

}  // namespace pmio
