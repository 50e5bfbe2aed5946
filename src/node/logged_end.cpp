#include "node/logged_end.h"

#include <algorithm>
#include <vector>

#include "base/atomic_max.h"
#include "node/job_impl.h"

namespace pmio {

// Behind `published`: if the rank does not know of a truncation yet, the record is found by that.
void LoggedEnd::raise(uint64_t end) {
  RankCell& cell = *file_.cell;
  if (cell.truncations.load(std::memory_order_relaxed) !=
      file_.control->truncations.load(std::memory_order_relaxed)) [[unlikely]] {
    begin_anew();
    if (!several_nodes_) return;  // else it may have been written past the log
  }
  if (several_nodes_) return raise_to(cell.logged_end, end);
  if (end > cell.logged_end.load(std::memory_order_relaxed))
    cell.logged_end.store(end, std::memory_order_release);
}

// After a truncation: of what was drained before it nothing counts, of what is still to come all.
void LoggedEnd::begin_anew() {
  const LockGuard lock(mutex_);
  RankCell& cell = *file_.cell;
  const uint64_t truncations = file_.control->truncations.load(std::memory_order_acquire);
  if (cell.truncations.load(std::memory_order_relaxed) == truncations) return;
  cell.logged_end.store(file_.index->undrained_end(file_.job->member->seat()), std::memory_order_release);
  cell.truncations.store(truncations, std::memory_order_release);
}

uint64_t LoggedEnd::noted(uint32_t seat) const {
  const RankCell& of_rank = file_.control->cells[seat];
  const uint64_t truncations = of_rank.truncations.load(std::memory_order_acquire);
  if (truncations != file_.control->truncations.load(std::memory_order_acquire)) return 0;
  return of_rank.logged_end.load(std::memory_order_acquire);
}

uint64_t LoggedEnd::noted() const {
  uint64_t end = 0;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) end = std::max(end, noted(seat));
  return end;
}

uint64_t LoggedEnd::bytes() const {
  uint64_t end = 0;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    const uint64_t of_rank = noted(seat);
    end = std::max(end, of_rank != 0 ? of_rank : file_.index->undrained_end(seat));
  }
  return end;
}

bool LoggedEnd::is_beyond_target() const {
  std::vector<uint64_t> ends(file_.control->seats);
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) ends[seat] = noted(seat);
  const Result<uint64_t> size = file_.target->size_bytes();
  if (!size.ok()) return false;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    // Else it is still to come.
    if (ends[seat] > size.value() && file_.index->undrained_end(seat, ends[seat]) < ends[seat]) return true;
  }
  return false;
}

}  // namespace pmio
