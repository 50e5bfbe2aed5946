// Segments for this rank's log of a file: how one is found, taken into use, and given back.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "log/call_stamp.h"
#include "node/appender.h"
#include "node/background.h"
#include "node/job_impl.h"

namespace pmio {
namespace {

// For a segment, while there is none that is free.
class WaitForRoom {
 public:
  explicit WaitForRoom(Counters& counters) : counters_(counters) {}
  ~WaitForRoom() {
    if (from_ != 0) count(counters_.append_wait_ns, monotonic_ns() - from_);
  }
  WaitForRoom(const WaitForRoom&) = delete;
  WaitForRoom& operator=(const WaitForRoom&) = delete;
  void begin() {
    if (from_ == 0) from_ = monotonic_ns();
  }

 private:
  Counters& counters_;
  uint64_t from_ = 0;
};

}  // namespace

bool Appender::takes_nothing(Patience patience) {
  if (file_.job->lost_log.is_known()) give_up();
  return file_.job->member->is_past_log() ||
         // There are no later stamps.
         (patience == Patience::full && several_nodes_ && stamp_calls(last_stamp_) >= kLastCall);
}

// Whether there is one now: make_room.
Result<bool> Appender::find_segment(Patience patience) {
  Job::Impl& job = *file_.job;
  SegmentPool::Segment* segment = nullptr;
  std::optional<uint32_t> cell;
  {
    WaitForRoom wait(job.member->counters());
    for (bool again = false; segment == nullptr; again = true) {
      cell = free_cell();
      const uint64_t releases = job.member->pool().releases();
      Status full;
      if (cell) {
        auto acquired =
            job.acquire_segment(owned_.empty() ? SegmentPool::Need::little : SegmentPool::Need::whole);
        if (acquired.ok()) {
          segment = *acquired;
          continue;
        }
        full = acquired.status();
        if (job.lost_log.look(*file_.control)) return false;
        if (full.code() != Code::no_space) return full;
      }
      wait.begin();
      const Result<bool> freed = free_some(patience, cell.has_value(), again);
      if (!freed.ok()) return freed.status();
      if (freed.value()) continue;
      if (patience == Patience::none || (several_nodes_ && (!cell || owned_.empty()))) return false;
      // Other threads hold them all, or did when this one looked: to append, to close a file, to touch their
      // pages. None of them waits for this one.
      if (!job.member->pool().await_release(releases)) return full;
    }
  }
  if (job.background && job.member->pool().wants_attention()) job.background->wake();
  PMIO_TRY(attach(segment, *cell));
  return true;
}

// Whether another look at the free segments is worth while.
Result<bool> Appender::free_some(Patience patience, bool has_cell, bool again) {
  if (patience == Patience::full) return has_cell ? free_a_segment() : free_a_cell();
  if (frees_oldest_drained() || (has_cell && file_.job->files.recycle_elsewhere(*this))) return true;
  if (again) return false;
  PMIO_TRY(file_.job->files.drain_all());
  return true;
}

// False: the other nodes' ranks have not come so far that anything of these could be given back.
Result<bool> Appender::free_a_cell() {
  do {
    PMIO_TRY(reach_.drain(DrainScope::room));
    if (frees_oldest_drained()) return true;
    // Else another round of all nodes is just ending, in which nothing may be reused.
  } while (several_nodes_ && file_.control->closing.load(std::memory_order_acquire) != 0);
  if (several_nodes_) return false;
  return Status(Code::busy, "too many segments of one file are in use");
}

// Back-pressure: if nothing is drained yet, this rank drains (or helps who is draining) before it goes on.
Result<bool> Appender::free_a_segment() {
  FileTable& files = file_.job->files;
  if (frees_oldest_drained()) return true;
  // Nobody writes these any more.
  if (files.complete_oldest()) return true;
  if (!owned_.empty()) {
    PMIO_TRY(reach_.drain(DrainScope::room));
    if (frees_oldest_drained()) return true;
  }
  if (files.recycle_elsewhere(*this)) return true;
  PMIO_TRY(files.drain_all());
  return files.recycle_elsewhere(*this);
}

// A cell for another segment; none: all are in use.
std::optional<uint32_t> Appender::free_cell() const {
  for (uint32_t i = 0; i < kMaxSegments; i++)
    if (file_.cell->segments[i].salt.load(std::memory_order_relaxed) == 0) return i;
  return {};
}

Status Appender::attach(SegmentPool::Segment* segment, uint32_t cell) {
  Membership& member = *file_.job->member;
  const JobOptions& options = member.options();
  auto writer =
      SegmentWriter::format(*segment->region, {options.id, options.rank, segment->slot, options.ranks,
                                               file_.identity, file_.path, member.durable_fences()});
  if (!writer.ok()) {
    member.pool().release(segment);
    return writer.status();
  }
  writer->touch_ahead(segment->touched);
  count(member.counters().segments_formatted);
  if (file_.mark.blank()) file_.drainer->note_before_first_write();
  show_cell({segment, *writer, cell});
  if (!counts_as_log_ && options.logs_in_use != nullptr) {
    counts_as_log_ = true;
    options.logs_in_use->fetch_add(1, std::memory_order_release);
  }
  if (file_.cell->cells.load(std::memory_order_relaxed) <= cell) {
    file_.cell->cells.store(cell + 1, std::memory_order_release);
    // Release: who reads the raised count sees the cell.
    if (cell == 0 && options.files_logged != nullptr)
      options.files_logged->fetch_add(1, std::memory_order_release);
  }
  owned_.push_back({segment, std::move(writer).value(), cell});
  file_.job->files.note_fill();
  open_ = true;
  declare_all();
  return {};
}

void Appender::show_cell(const Owned& owned) {
  SegmentCell& shared = file_.cell->segments[owned.cell];
  shared.slot.store(owned.segment->slot, std::memory_order_relaxed);
  shared.max_stamp.store(0, std::memory_order_relaxed);
  shared.published.store(0, std::memory_order_relaxed);
  shared.merged.store(0, std::memory_order_relaxed);
  shared.drained.store(0, std::memory_order_relaxed);
  shared.sealed.store(0, std::memory_order_relaxed);
  shared.unordered.store(0, std::memory_order_relaxed);
  shared.first.store(file_.cell->appended.load(std::memory_order_relaxed), std::memory_order_relaxed);
  shared.begin.store(kNothingLogged, std::memory_order_relaxed);
  shared.end.store(0, std::memory_order_relaxed);
  last_end_ = UINT64_MAX;
  // Release: who sees the salt sees the empty cell behind it.
  shared.salt.store(owned.writer.salt(), std::memory_order_release);
}

void Appender::detach(size_t position) {
  const Owned gone = owned_[position];
  if (position + 1 == owned_.size()) {
    open_ = false;
    declared_ = 0;
    table_cell_.store(kNoCell, std::memory_order_relaxed);
  }
  owned_.erase(owned_.begin() + static_cast<ptrdiff_t>(position));
  SegmentCell& shared = file_.cell->segments[gone.cell];
  // Nothing of a segment that is given back may be replayed, and the next ledger does not tell of it any
  // more. It is made invalid before its cell is let go, in case this process dies in between. Nobody reads
  // the header of a segment that is in use. A failure here is not an error of the program's: the segment's
  // next generation has another salt.
  (void)SegmentWriter::invalidate(*gone.segment->region);
  FileControl* control = file_.control;
  {
    RobustLock lock(control->index_mutex);
    stop_serving_upto(*control, shared.max_stamp.load(std::memory_order_relaxed));
    // Before any byte of the segment changes: readers that copied from it look at this afterwards.
    control->evictions.fetch_add(1, std::memory_order_seq_cst);
    shared.salt.store(0, std::memory_order_release);
  }
  gone.segment->touched = gone.writer.touched();
  count(file_.job->member->counters().segments_recycled);
  file_.job->member->pool().release(gone.segment);
}

uint64_t Appender::undrained_segment_bytes() const {
  const RankCell& cell = *file_.cell;
  const SegmentPool& pool = file_.job->member->pool();
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < cell.cells.load(std::memory_order_acquire); i++) {
    const SegmentCell& shared = cell.segments[i];
    if (shared.salt.load(std::memory_order_acquire) == 0) continue;
    const auto drained = shared.drained.load(std::memory_order_relaxed);
    if (drained == 0 || drained < shared.published.load(std::memory_order_relaxed))
      bytes += pool.bytes_of(shared.slot.load(std::memory_order_relaxed));
  }
  return bytes;
}

bool Appender::owns_undrained() const {
  if (file_.control->closing.load(std::memory_order_acquire) != 0) return !owned_.empty();
  return std::any_of(owned_.begin(), owned_.end(), [this](const Owned& each) {
    const auto drained = file_.cell->segments[each.cell].drained.load(std::memory_order_acquire);
    return drained != each.writer.records();
  });
}

bool Appender::frees_oldest_drained() {
  for (size_t i = 0; i < owned_.size(); i++) {
    const SegmentCell& shared = file_.cell->segments[owned_[i].cell];
    if (shared.drained.load(std::memory_order_acquire) != owned_[i].writer.records()) continue;
    // Loaded behind `drained`, which is stored behind it. Until all nodes have finished a round, none of its
    // segments may be reused.
    if (file_.control->closing.load(std::memory_order_acquire) != 0) return false;
    detach(i);
    return true;
  }
  return false;
}

void Appender::give_all_back() {
  while (!owned_.empty()) detach(0);
}

void Appender::keep_all() {
  for (const Owned& each : owned_) file_.job->member->pool().keep(each.segment);
}

}  // namespace pmio
