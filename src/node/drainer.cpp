#include "node/drainer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include "base/clock.h"
#include "base/file_buffer.h"
#include "medium/populate.h"
#include "node/lost_log.h"
#include "node/round_runs.h"

namespace pmio {

constexpr uint64_t kDirectBytes =
    32 << 10;  // pieces of this size on average are written straight from the logs
constexpr uint64_t kPatienceNs = 10'000'000'000;  // of a process that cannot drain itself

struct Drainer::Work {
  uint64_t number = 0;
  RoundRuns runs;
  Painter painter;
  std::vector<Entry> entries;
  std::vector<Interval> covered;
  FileBuffer window{kWindowBytes};
  bool wrote = false;
};

bool Drainer::all_drained(const std::vector<uint64_t>& wanted) const {
  for (uint32_t seat = 0; seat < parts_.control->seats; seat++) {
    if (parts_.control->cells[seat].drained_records.load(std::memory_order_acquire) < wanted[seat])
      return false;
  }
  return true;
}

// A file system's EBUSY is none.
static bool helper_died(const Status& status) {
  return status.code() == Code::busy && status.system_errno() == 0;
}

// A process that may have no more memory (ulimit -v) leaves the round to the next one, as one that has died.
template <class Body>
static Status with_memory(const std::string& path, const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(Code::io, "not enough memory to write to '" + path + "'", ENOMEM);
  }
}

Status Drainer::drain() {
  FileControl* control = parts_.control;
  std::vector<uint64_t> wanted(control->seats);
  for (uint32_t seat = 0; seat < control->seats; seat++) {
    wanted[seat] = control->cells[seat].appended.load(std::memory_order_acquire);
  }
  const uint64_t start = monotonic_ns();
  while (!all_drained(wanted)) {
    const bool knew = parts_.lost_log->is_known(*control);
    if (knew) PMIO_TRY(await_reach());
    if (parts_.target->access() == TargetFile::Access::read_only) {
      // This process cannot write; one that logs can, and its background thread looks at this flag.
      if (monotonic_ns() - start > kPatienceNs) {
        return Status(
            Code::busy,
            "'" + parts_.target->path() + "' may not be written here, and who may does not drain it", EBUSY);
      }
      control->drain_wanted.store(1, std::memory_order_release);
      usleep(kPollMicroseconds);
      continue;
    }
    RobustLock lock(control->drain_mutex, std::try_to_lock);
    if (lock.held()) {
      if (all_drained(wanted)) break;
      Status status = with_memory(parts_.target->path(), [this] { return lead(true); });
      if (helper_died(status)) continue;  // the round is run again
      if (is_worth_another_try(status, knew)) continue;
      if (!status.ok()) {
        control->error.store(status.system_errno() != 0 ? status.system_errno() : EIO,
                             std::memory_order_relaxed);
        control->error_number.fetch_add(1, std::memory_order_release);
        return status;
      }
      control->error.store(0, std::memory_order_release);
    } else {
      const uint64_t failures = control->error_number.load(std::memory_order_acquire);
      bool helped = false;
      static_cast<void>(with_memory(parts_.target->path(), [&] {
        helped = help();
        return Status();
      }));
      if (!helped) usleep(kPollMicroseconds);
      // The leader's failure is everybody's: nobody waits for a round that will not come.
      if (control->error_number.load(std::memory_order_acquire) != failures) {
        const int error = control->error.load(std::memory_order_relaxed);
        if (error != 0) return Status::from_errno(error, "cannot write to '" + parts_.target->path() + "'");
      }
    }
  }
  return {};
}

Status Drainer::discard() {
  FileControl* control = parts_.control;
  if (parts_.lost_log->look(*control)) PMIO_TRY(await_reach());
  RobustLock lock(control->drain_mutex);
  PMIO_TRY(lead(false));
  // What counts as drained now is not in the target: none of it may be served.
  RobustLock index_lock(control->index_mutex);
  stop_serving_all(*control);
  control->truncations.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

Status Drainer::begin_round(bool write, FileIndex::Leftover* leftover, std::vector<LedgerEntry>* marks) {
  FileControl* control = parts_.control;
  control->drain_mutex.assert_held();
  const bool is_lost = parts_.lost_log->is_known(*control);
  RobustLock index_lock(control->index_mutex);
  count_last_round_locked();
  if (is_lost) parts_.index->forget_runs_locked();
  // The merge goes from rank to rank. What one that it has passed publishes now is not in this round. So what
  // overwrites that, with a later stamp than now, must not be either. The next round would undo it.
  PMIO_TRY(parts_.index->merge_locked(leftover, write ? monotonic_ns() - 1 : UINT64_MAX));
  Round& round = control->round;
  RobustLock claim_lock(control->claim_mutex);
  round.number.fetch_add(1, std::memory_order_relaxed);
  round.error.store(0, std::memory_order_relaxed);
  round.in_flight = 0;
  round.run_count = 0;
  RunTable& table = run_table(*control);
  for (uint32_t i = 0; i < table.count; i++) {
    RunRef& ref = table.runs[i];
    ref.flags &= ~kRunDraining;  // left by a leader that died
    if (ref.flags & kRunDrained) continue;
    ref.flags |= kRunDraining;
    round.runs[round.run_count++] = ref.number;
  }
  const uint32_t servers = std::min(parts_.layout.servers, kMaxServers);
  for (uint32_t s = 0; s < kMaxServers; s++) round.cursor[s] = s < servers ? 0 : UINT64_MAX;
  for (uint32_t seat = 0; seat < control->seats; seat++) {
    RankCell& of_rank = control->cells[seat];
    const uint32_t cells = of_rank.cells.load(std::memory_order_acquire);
    for (uint32_t c = 0; c < cells; c++) {
      const SegmentCell& cell = of_rank.segments[c];
      const uint64_t salt = cell.salt.load(std::memory_order_acquire);
      if (salt == 0) continue;
      uint64_t merged = cell.merged.load(std::memory_order_relaxed);
      for (const FileIndex::Mark& mark : leftover->marks) {
        if (mark.seat == seat && mark.cell == c) merged = mark.merged;
      }
      marks->push_back({of_rank.rank, cell.slot.load(std::memory_order_relaxed), salt, merged});
    }
  }
  // Helpers may come in from here on.
  round.exclusive = leftover->entries.empty() && !is_lost ? 0 : 1;
  round.active.store(write ? 1 : 0, std::memory_order_release);
  return {};
}

Status Drainer::lead(bool write) {
  const uint64_t start = monotonic_ns();
  FileIndex::Leftover leftover;
  std::vector<LedgerEntry> marks;
  // The last leader may have died, and not who helped it.
  stop_helpers();
  // Before the round begins, for helpers write from then on.
  if (write) {
    look_for_others();
    PMIO_TRY(withdraw_state());
  }
  PMIO_TRY(begin_round(write, &leftover, &marks));
  if (write) {
    Status status = write_round(leftover);
    if (!status.ok()) stop_helpers();
    // After a death in the middle of a write the round is done again.
    if (!status.ok() && !helper_died(status)) settle_mark(true);
    PMIO_TRY(status);
  }
  PMIO_TRY(finish_round(marks, leftover));
  if (write) settle_mark(false);
  count(parts_.counters->drain_rounds);
  count(parts_.counters->drain_ns, monotonic_ns() - start);
  return {};
}

Status Drainer::write_round(FileIndex::Leftover& leftover) {
  const Round& round = parts_.control->round;
  Work work;
  work.number = round.number.load(std::memory_order_relaxed);
  work.runs.add(leftover.entries);
  PMIO_TRY(work.runs.open(*parts_.index, {round.runs, round.run_count}));
  const uint64_t losses = parts_.target->losses();
  work_on(work);
  stop_helpers();
  if (round.in_flight != 0) return Status(Code::busy, "a process died while it was writing a window");
  const int error = round.error.load(std::memory_order_relaxed);
  if (error != 0) return Status::from_errno(error, "cannot write to '" + parts_.target->path() + "'");
  // Before the ledger lets the log go: a write that the file system has only promised is in the log still.
  return send_on(losses);
}

Status Drainer::send_on(uint64_t losses) {
  return parts_.sync_target ? parts_.target->sync_since(losses) : parts_.target->flush();
}

bool Drainer::help() {
  const Round& round = parts_.control->round;
  if (round.active.load(std::memory_order_acquire) == 0) return false;
  std::optional<RobustLock> helping;
  for (RobustMutex& mutex : parts_.control->cells[parts_.seat].helping) {
    helping.emplace(mutex, std::try_to_lock);
    if (helping->held()) break;
  }
  if (!helping->held()) return false;  // enough of this rank's threads help
  Work work;
  uint64_t numbers[kMaxRuns];
  uint32_t run_count = 0;
  {
    RobustLock lock(parts_.control->claim_mutex);
    if (round.exclusive != 0) return false;
    work.number = round.number.load(std::memory_order_relaxed);
    run_count = round.run_count;
    std::copy_n(round.runs, run_count, numbers);
  }
  if (!work.runs.open(*parts_.index, {numbers, run_count}).ok()) return false;  // the round is over
  const uint64_t losses = parts_.target->losses();
  work_on(work);
  if (work.wrote && parts_.target->syncs_own_writes()) {  // the leader waits for this, and cannot do it
    const Status status = send_on(losses);
    const RobustLock lock(parts_.control->claim_mutex);
    note_failure_locked(work, status);
  }
  return true;
}

// Claims the next window of the server that is least far, so that all servers get work.
bool Drainer::claim(Work& work, uint64_t* a, uint64_t* b) {
  Round& round = parts_.control->round;
  RobustLock lock(parts_.control->claim_mutex);
  if (round.active.load(std::memory_order_relaxed) == 0 ||
      round.number.load(std::memory_order_relaxed) != work.number) {
    return false;
  }
  for (;;) {
    const auto least = std::min_element(round.cursor, round.cursor + kMaxServers);
    if (*least == UINT64_MAX) break;
    const auto server = static_cast<uint32_t>(least - round.cursor);
    const uint64_t at = work.runs.next_covered(*least);
    if (at != UINT64_MAX && parts_.layout.server_of(at) % kMaxServers != server) {
      *least = parts_.layout.next_boundary(at);  // not this server's stripe
      continue;
    }
    if (at == UINT64_MAX) {
      *least = UINT64_MAX;
      continue;
    }
    *a = at;
    *b = std::min((at / kWindowBytes + 1) * kWindowBytes, parts_.layout.next_boundary(at));
    *least = *b;
    round.in_flight++;
    return true;
  }
  round.active.store(0, std::memory_order_release);
  return false;
}

void Drainer::work_on(Work& work) {
  Round& round = parts_.control->round;
  uint64_t a = 0;
  uint64_t b = 0;
  while (claim(work, &a, &b)) {
    work.wrote = true;
    Status status = write_window(work, a, b);
    RobustLock lock(parts_.control->claim_mutex);
    if (round.number.load(std::memory_order_relaxed) != work.number) return;
    round.in_flight--;
    note_failure_locked(work, status);
  }
}

void Drainer::note_failure_locked(const Work& work, const Status& status) {
  parts_.control->claim_mutex.assert_held();
  Round& round = parts_.control->round;
  if (status.ok() || round.number.load(std::memory_order_relaxed) != work.number) return;
  int none = 0;
  round.error.compare_exchange_strong(none, status.system_errno() != 0 ? status.system_errno() : EIO);
  round.active.store(0, std::memory_order_release);
}

// Maps the pages of a peer's data at once: write(2) would fault them in one by one, which costs more than its
// copy.
static void populate(const std::byte* data, uint64_t length) {
  constexpr uintptr_t kPage = 4096;
  if (length <= kPage) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / kPage * kPage;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + length;
  (void)madvise(reinterpret_cast<void*>(begin), end - begin,
                MADV_POPULATE_READ);  // where the kernel knows it
}

// Large extents that do not overlap need no copy; those that touch are one system call. False: not such a
// window.
bool Drainer::write_directly(std::vector<Entry>& entries, uint64_t a, uint64_t b, Status* status) {
  if (entries.size() * kDirectBytes > b - a) return false;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& x, const Entry& y) { return x.offset < y.offset; });
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.vector || entry.offset < end) return false;
    end = entry.end;
  }
  FileEntrySource source(parts_.control, parts_.map);
  std::vector<TargetFile::Block> blocks;
  for (const Entry& entry : entries) {
    EntrySource::Located located;
    if (!source.locate(entry, &located)) return false;
    const uint64_t begin = std::max(a, entry.offset);
    const uint64_t length = std::min(b, entry.end) - begin;
    populate(located.data + (begin - entry.offset), length);
    blocks.push_back({begin, located.data + (begin - entry.offset), length});
  }
  *status = parts_.target->write_blocks(blocks);
  for (const TargetFile::Block& block : blocks)
    if (status->ok()) count(parts_.counters->drain_bytes, block.length);
  return true;
}

Status Drainer::write_window(Work& work, uint64_t a, uint64_t b) {
  work.entries.clear();
  work.runs.find(a, b, &work.entries);
  count(parts_.counters->drain_windows);
  Status status;
  if (write_directly(work.entries, a, b, &status)) return status;
  std::byte* const window = work.window.at(a);
  FileEntrySource source(parts_.control, parts_.map);
  if (!work.painter.paint(work.entries, source, a, b, window, &work.covered)) {
    return Status(Code::io, "cannot map a segment of the log", EIO);
  }
  for (const Interval& interval : work.covered)
    count(parts_.counters->drain_bytes, interval.end - interval.begin);
  if (parts_.control->written_aside.load(std::memory_order_seq_cst) != 0 ||
      parts_.control->large_writes.any.load(std::memory_order_seq_cst) != 0 ||
      parts_.control->foreign.load(std::memory_order_relaxed) != 0)
    return parts_.target->write_each(a, window, work.covered);
  return parts_.target->write_covered(a, window, work.covered);
}

bool Drainer::some_rank_died() const {
  for (uint32_t seat = 0; seat < parts_.control->seats; seat++) {
    if (parts_.control->cells[seat].died()) return true;
  }
  return false;
}

// On return nobody claims windows any more, and whoever helped has written its own, or has died.
void Drainer::stop_helpers() {
  {
    RobustLock lock(parts_.control->claim_mutex);
    parts_.control->round.active.store(0, std::memory_order_release);
  }
  for (uint32_t seat = 0; seat < parts_.control->seats; seat++) {
    for (RobustMutex& helping : parts_.control->cells[seat].helping) RobustLock wait(helping);
  }
}

}  // namespace pmio
