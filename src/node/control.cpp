#include "node/control.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "base/clock.h"
#include "drain/run.h"

namespace pmio {

size_t control_bytes(uint32_t seats) { return sizeof(FileControl) + seats * sizeof(RankCell); }

void init_control(FileControl* control, std::span<const uint32_t> ranks, uint32_t job_ranks,
                  const FileIdentity& target) {
  control->boot = this_boot();
  control->target = target;
  control->seats = static_cast<uint32_t>(ranks.size());
  control->job_ranks = job_ranks;
  control->ledger_updates_inverted = ~uint64_t{0};
  control->horizon = UINT64_MAX;
  control->known_size = UINT64_MAX;
  control->drain_mutex.init();
  control->index_mutex.init();
  control->claim_mutex.init();
  control->settled_mutex.init();
  for (uint32_t seat = 0; seat < control->seats; seat++) {
    control->cells[seat].rank = ranks[seat];
    for (RobustMutex& helping : control->cells[seat].helping) helping.init();
  }
  control->writes_to_sync.init();
  for (uint64_t& cursor : control->round.cursor) cursor = UINT64_MAX;
  // Last: it says that the rest is there.
  std::atomic_ref<uint64_t>(control->magic).store(kControlMagic, std::memory_order_release);
}

std::optional<uint32_t> seat_of(const FileControl& control, uint32_t rank) {
  const RankCell* end = control.cells + control.seats;
  const RankCell* at = std::lower_bound(
      control.cells, end, rank, [](const RankCell& cell, uint32_t wanted) { return cell.rank < wanted; });
  if (at == end || at->rank != rank) return {};
  return static_cast<uint32_t>(at - control.cells);
}

std::string file_key(const FileIdentity& identity) {
  char key[40];
  std::snprintf(key, sizeof key, "%" PRIx64 "-%" PRIx64, identity.device, identity.inode);
  return key;
}

RunTable& copy_runs(FileControl& control) {
  const RunTable& now = run_table(control);
  RunTable& next = control.run_tables[&now == control.run_tables ? 1 : 0];
  next.bytes_dram = now.bytes_dram;
  next.count = now.count;
  std::copy_n(now.runs, now.count, next.runs);
  return next;
}

void show_runs(FileControl& control) { control.runs_version.fetch_add(1, std::memory_order_release); }

bool RankCell::died() const {
  return attached.load(std::memory_order_acquire) != 0 &&
         kill(process.load(std::memory_order_relaxed), 0) != 0 && errno == ESRCH;
}

bool lags(const FileControl& control) {
  return std::any_of(control.cells, control.cells + control.seats, [](const RankCell& cell) {
    return cell.attached.load(std::memory_order_acquire) == kLags;
  });
}

void count_records(FileControl& control) {
  for (uint32_t seat = 0; seat < control.seats; seat++) {
    RankCell& of_rank = control.cells[seat];
    // First: each of these records is in a cell that is seen below, or was drained when its cell was let go.
    const uint64_t appended = of_rank.appended.load(std::memory_order_acquire);
    uint64_t drained = appended;
    uint64_t merged = appended;
    const uint32_t cells = of_rank.cells.load(std::memory_order_acquire);
    for (uint32_t c = 0; c < cells; c++) {
      const SegmentCell& cell = of_rank.segments[c];
      if (cell.salt.load(std::memory_order_acquire) == 0) continue;
      const uint64_t first = cell.first.load(std::memory_order_relaxed);
      const uint32_t published = cell.published.load(std::memory_order_acquire);
      const uint32_t drained_here = cell.drained.load(std::memory_order_relaxed);
      const uint32_t merged_here = cell.merged.load(std::memory_order_relaxed);
      if (drained_here < published) drained = std::min(drained, first + drained_here);
      if (merged_here < published) merged = std::min(merged, first + merged_here);
    }
    of_rank.drained_records.store(drained, std::memory_order_release);
    of_rank.merged_records.store(merged, std::memory_order_release);
  }
}

bool has_undrained(const FileControl& control) {
  if (control.closing.load(std::memory_order_acquire) != 0) return true;
  for (uint32_t seat = 0; seat < control.seats; seat++) {
    for (const SegmentCell& cell : control.cells[seat].segments) {
      if (cell.salt.load(std::memory_order_acquire) != 0 &&
          cell.drained.load(std::memory_order_relaxed) < cell.published.load(std::memory_order_acquire))
        return true;
    }
  }
  return false;
}

Held held_by_cells(const FileControl& control, uint64_t a, uint64_t b) {
  const uint64_t floor = control.floor.load(std::memory_order_acquire);
  Held held = Held::nothing;
  for (uint32_t seat = 0; seat < control.seats; seat++) {
    const RankCell& of_rank = control.cells[seat];
    const uint32_t cells = of_rank.cells.load(std::memory_order_acquire);
    for (uint32_t c = 0; c < cells; c++) {
      const SegmentCell& cell = of_rank.segments[c];
      if (cell.salt.load(std::memory_order_acquire) == 0) continue;
      const uint32_t published = cell.published.load(std::memory_order_acquire);
      // Loaded behind the count: of all records below it.
      if (published == 0 || cell.begin.load(std::memory_order_relaxed) >= b ||
          cell.end.load(std::memory_order_relaxed) <= a)
        continue;
      if (cell.drained.load(std::memory_order_acquire) < published) return Held::undrained;
      if (cell.max_stamp.load(std::memory_order_relaxed) > floor) held = Held::drained;
    }
  }
  return held;
}

uint64_t newest_drained(const FileControl& control) {
  const uint64_t horizon = control.horizon.load(std::memory_order_acquire);
  return horizon == UINT64_MAX ? monotonic_ns() : horizon;
}

void stop_serving_upto(FileControl& control, uint64_t stamp) {
  control.floor.store(std::max(control.floor.load(std::memory_order_relaxed), stamp),
                      std::memory_order_release);
}

void stop_serving_all(FileControl& control) { stop_serving_upto(control, newest_drained(control)); }

void stop_serving_window(FileControl& control, uint64_t number, uint64_t stamp) {
  const uint32_t count = control.stale_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; i++) {
    StaleWindow& stale = control.stale[i];
    if (stale.number.load(std::memory_order_relaxed) != number) continue;
    if (stale.stamp.load(std::memory_order_relaxed) < stamp)
      stale.stamp.store(stamp, std::memory_order_release);
    return;
  }
  if (count == kMaxStale) {
    // The floor says it of all windows, for all that has been drained so far.
    stop_serving_all(control);
    control.stale_count.store(0, std::memory_order_release);
    return;
  }
  control.stale[count].number.store(number, std::memory_order_relaxed);
  control.stale[count].stamp.store(stamp, std::memory_order_relaxed);
  control.stale_count.store(count + 1, std::memory_order_release);
}

uint64_t unserved_stamp(const FileControl& control, uint64_t a, uint64_t b) {
  const uint32_t count = control.stale_count.load(std::memory_order_acquire);
  // After the count: where the table was emptied, the floor was raised before.
  uint64_t stamp = control.floor.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t at = control.stale[i].number.load(std::memory_order_relaxed) * kWindowBytes;
    if (at < b && at + kWindowBytes > a)
      stamp = std::max(stamp, control.stale[i].stamp.load(std::memory_order_acquire));
  }
  return stamp;
}

uint64_t unserved_stamp_throughout(const FileControl& control, uint64_t a, uint64_t b) {
  const uint64_t floor = control.floor.load(std::memory_order_acquire);
  uint64_t least = UINT64_MAX;
  // At most kMaxStale windows are not served beyond the floor.
  for (uint64_t at = a / kWindowBytes * kWindowBytes; at < b && least > floor; at += kWindowBytes)
    least = std::min(least, unserved_stamp(control, at, at + kWindowBytes));
  return least;
}

}  // namespace pmio
