// The end of a drain round: its records count as drained.
#include "node/drainer.h"

namespace pmio {

Status Drainer::finish_round(const std::vector<LedgerEntry>& marks, const FileIndex::Leftover& leftover) {
  FileControl* control = parts_.control;
  control->drain_mutex.assert_held();
  LedgerState state;
  state.target = parts_.identity;
  state.entries = marks;
  if (const uint64_t horizon = control->horizon.load(std::memory_order_relaxed); horizon != UINT64_MAX)
    state.horizon = horizon;
  // The ledger before the cells. A segment is reused only when its cell says that it is drained. By then
  // recovery knows that it needs nothing from it.
  PMIO_TRY(parts_.ledger->update(state));
  RobustLock lock(control->index_mutex);
  const uint64_t updates = control->ledger_updates.load(std::memory_order_relaxed) + 1;
  control->ledger_updates.store(updates, std::memory_order_release);
  control->ledger_updates_inverted.store(~updates, std::memory_order_release);
  // These entries are in no run, so what they overwrote must not be served either.
  uint64_t newest = 0;
  for (const Entry& entry : leftover.entries) newest = std::max(newest, entry.stamp_ns);
  stop_serving_upto(*control, newest);
  count_round_locked(marks);
  count(parts_.counters->merge_records, leftover.entries.size());
  control->drain_wanted.store(0, std::memory_order_relaxed);
  parts_.index->tidy_locked();
  return {};
}

// Says of all that the round has drained that it is. Where only a part of that is said, older bytes count as
// not drained that newer ones, which count as drained, have overwritten. May be repeated.
void Drainer::count_round_locked(const std::vector<LedgerEntry>& marks) {
  FileControl* control = parts_.control;
  control->index_mutex.assert_held();
  // The ledger before the cells.
  PMIO_ASSERT(control->updates_counted.load(std::memory_order_relaxed) !=
              control->ledger_updates.load(std::memory_order_relaxed));
  const auto for_each_cell = [&](const auto& visit) {
    for (const LedgerEntry& mark : marks) {
      const std::optional<uint32_t> seat = seat_of(*control, mark.rank);
      if (!seat) continue;
      RankCell& of_rank = control->cells[*seat];
      for (uint32_t c = 0; c < of_rank.cells.load(std::memory_order_acquire); c++) {
        SegmentCell& cell = of_rank.segments[c];
        if (cell.salt.load(std::memory_order_acquire) == mark.salt)
          visit(cell, static_cast<uint32_t>(mark.drained_records));
      }
    }
  };
  RunTable& table = copy_runs(*control);
  for (uint32_t i = 0; i < table.count; i++) {
    RunRef& ref = table.runs[i];
    if (ref.flags & kRunDraining) ref.flags = (ref.flags & ~kRunDraining) | kRunDrained;
  }
  // Of the others somebody may have merged more meanwhile.
  for_each_cell([](SegmentCell& cell, uint32_t drained) {
    PMIO_ASSERT(drained <= cell.published.load(std::memory_order_relaxed));
    if (cell.merged.load(std::memory_order_relaxed) < drained)
      cell.merged.store(drained, std::memory_order_release);
  });
  show_runs(*control);
  for_each_cell(
      [](SegmentCell& cell, uint32_t drained) { cell.drained.store(drained, std::memory_order_release); });
  count_records(*control);
  control->updates_counted.store(control->ledger_updates.load(std::memory_order_relaxed),
                                 std::memory_order_release);
}

// Between two rounds a record counts as drained, and the target has or had it, or it will be written as a
// whole. A round that went on meanwhile would have written some bytes before the truncation and count them
// after it.
void Drainer::note_truncation() {
  const RobustLock lock(parts_.control->drain_mutex);
  count_last_round();
  parts_.control->truncations.fetch_add(1, std::memory_order_acq_rel);
}

void Drainer::count_last_round() {
  const RobustLock lock(parts_.control->index_mutex);
  count_last_round_locked();
}

// Nobody has updated the ledger since, for who does comes by here first.
void Drainer::count_last_round_locked() {
  FileControl* control = parts_.control;
  control->index_mutex.assert_held();
  const uint64_t updates = control->ledger_updates.load(std::memory_order_relaxed);
  if (control->updates_counted.load(std::memory_order_relaxed) == updates) return;
  control->ledger_updates_inverted.store(~updates, std::memory_order_release);
  // What of it was in no run nobody knows any more.
  stop_serving_all(*control);
  count_round_locked(parts_.ledger->read().entries);
}

}  // namespace pmio
