#include "span/spanning.h"

#include <algorithm>
#include <cerrno>

#include "base/atomic_max.h"
#include "node/drain_errors.h"
#include "node/job_impl.h"

namespace pmio {

Spanning& Spanning::of(File& file) {
  PMIO_ASSERT(file.reach().spans_nodes());
  return static_cast<Spanning&>(file.reach());
}

ReachMaker Spanning::over(Neighbours& neighbours) {
  return {neighbours.place().span,
          [&neighbours](FileParts& file) { return std::make_unique<Spanning>(file, neighbours); }};
}

Status Spanning::attached() {
  // Until the first round nothing is drained.
  uint64_t none = UINT64_MAX;
  file_.control->horizon.compare_exchange_strong(none, 0);
  return note_nodes();
}

Status Spanning::note_nodes() { return file_.job->shared_files.note_nodes(file_, neighbours_.place()); }

uint64_t Spanning::last_call() const {
  uint64_t last = std::max(file_.cell->begun.load(std::memory_order_relaxed), stamp_calls(horizon()));
  for (uint32_t seat = 0; seat < file_.control->seats; seat++)
    last = std::max(last, file_.control->cells[seat].completed.load(std::memory_order_acquire));
  return last;
}

CallStamp Spanning::horizon() const { return file_.control->horizon.load(std::memory_order_acquire); }

CallStamp Spanning::finished_horizon() const {
  const RobustLock lock(file_.control->drain_mutex);
  return file_.ledger.read().horizon.value_or(0);
}

// A node whose ranks had all closed the file begins anew; the others are not at their beginning. It holds
// nothing of the rounds that they have finished, and so its ledger may say that it has finished them too.
// The ledger of a node that goes on with its log is left as it is. Rounds that have failed, or that only
// other nodes have finished, have raised the horizon, too. Recovery sees this by comparing the ledgers. Else
// it would replay what this node still has of such a round over newer bytes that another one counts as
// drained. Durable if nothing says more.
Status Spanning::raise_horizon(CallStamp horizon, CallStamp finished) {
  FileControl& control = *file_.control;
  const RobustLock lock(control.drain_mutex);
  if (control.horizon.load(std::memory_order_relaxed) == 0) {
    LedgerState state = file_.ledger.read();
    if (state.horizon.value_or(0) < finished || state.round == 0) {
      state.target = file_.identity;
      state.horizon = finished;
      PMIO_TRY(file_.ledger.update(state));
    }
  }
  raise_to(control.clock, stamp_clock(horizon));
  const RobustLock index_lock(control.index_mutex);
  if (control.horizon.load(std::memory_order_relaxed) < horizon)
    control.horizon.store(horizon, std::memory_order_release);
  return {};
}

Status Spanning::join_nodes(const Agreed& all) {
  // All ranks are in the open: what others have written before it is read from now on.
  file_.control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  // On all ranks the same. Of a file that is open already a rank may have begun a nonblocking call, before
  // this open or after it.
  if (file_.job->files.has_other_handles(parts_)) return {};
  PMIO_TRY(raise_horizon(all.horizon, all.finished_horizon));
  // If a node has the file from an earlier open, others may not.
  file_.control->remote_syncs.start_over();
  resting_.compare();
  // Of an earlier open: the other nodes may not know of the questions any more.
  if (threads_at_once()) file_.control->leases.give_up_all();
  file_.cell->begun.store(all.last_call, std::memory_order_release);
  file_.cell->completed.store(all.last_call, std::memory_order_release);
  last_waiting_.store(all.last_call, std::memory_order_relaxed);
  file_.control->known_size.store(all.size, std::memory_order_release);
  number_.store(all.number, std::memory_order_release);
  // What a handle that is handed on has to know of, other nodes may log from now on.
  if (std::atomic<uint64_t>* logged = file_.job->member->options().files_logged)
    logged->fetch_add(1, std::memory_order_release);
  return {};
}

void Spanning::begin_call(bool may_wait) {
  call_mutex_.lock();
  file_.cell->begun.store(file_.cell->begun.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  (may_wait ? last_waiting_ : only_started_)
      .store(file_.cell->begun.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (!threads_at_once()) return;
  if (const Status ended = unsettle(); !ended.ok())
    DrainErrors(file_).add(ended.system_errno() != 0 ? ended.system_errno() : EIO);
}

void Spanning::end_call() {
  // Release: who sees that the call is over sees its records.
  file_.cell->completed.store(file_.cell->begun.load(std::memory_order_relaxed), std::memory_order_release);
  call_mutex_.unlock();
}

uint64_t Spanning::calls_finished_here() const {
  uint64_t finished = UINT64_MAX;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    const RankCell& cell = file_.control->cells[seat];
    if (cell.attached.load(std::memory_order_acquire) != 0)
      finished = std::min(finished, cell.completed.load(std::memory_order_acquire));
  }
  return finished;
}

uint64_t Spanning::calls_begun_here() const {
  uint64_t begun = 0;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    const RankCell& cell = file_.control->cells[seat];
    if (cell.attached.load(std::memory_order_acquire) != 0)
      begun = std::max(begun, cell.begun.load(std::memory_order_seq_cst));
  }
  return begun;
}

// Nothing begins while it looks that does not find the question for which it looks (unsettle).
std::optional<uint64_t> Spanning::settled_calls() const {
  const uint64_t begun = calls_begun_here();
  return calls_finished_here() == begun ? std::optional(begun) : std::nullopt;
}

uint64_t Spanning::clock() const { return file_.control->clock.load(std::memory_order_seq_cst); }

uint64_t Spanning::writes_synced() const { return file_.control->writes_to_sync.synced(); }

bool Spanning::some_rank_died() const { return file_.drainer->some_rank_died(); }

Status Spanning::drain_log(bool room) {
  LostLog& lost_log = file_.job->lost_log;
  if (lost_log.is_known(*file_.control)) lost_log.give_up();
  PMIO_TRY(file_.control->writes_to_sync.sync(*file_.target));
  if (number() == 0 || file_.all_drained()) return {};
  return room ? neighbours_.drain(number(), file_.cell->begun.load(std::memory_order_relaxed), false)
              : neighbours_.drain(number(), file_.cell->completed.load(std::memory_order_relaxed), true);
}

Status Spanning::drain_everywhere(bool will_write) {
  PMIO_TRY(drain_log(false));
  if (number() == 0) return {};
  const Vector all{0, INT64_MAX, 0, 1};
  uint64_t end = 0;
  return meet_nodes({&all, 1}, will_write, &end);
}

Status Spanning::drain(DrainScope scope) {
  switch (scope) {
    case DrainScope::published:
      return drain_log(false);
    case DrainScope::room:
      return drain_log(true);
    case DrainScope::everywhere:
      return drain_everywhere(false);
    case DrainScope::possible:
      return number() == 0 || file_.all_drained() ? Status() : neighbours_.drain(number(), 0, false);
    case DrainScope::for_library:
    case DrainScope::for_library_write:
      break;
  }
  const bool will_write = scope == DrainScope::for_library_write;
  // Before the drain: it waits for a round that has begun under another rule.
  if (will_write) file_.control->written_aside.store(1, std::memory_order_seq_cst);
  PMIO_TRY(drain_everywhere(will_write));
  if (number() != 0) resting_.note_uncertain();
  return {};
}

bool Spanning::is_drained() const { return number() == 0 || file_.all_drained(); }

Result<uint64_t> Spanning::target_bytes() const {
  const uint64_t known = file_.control->known_size.load(std::memory_order_acquire);
  const bool is_known = known != UINT64_MAX && !parts_.contest.declared();
  return is_known ? Result<uint64_t>(known) : file_.target->size_bytes(true);
}

Result<uint64_t> Spanning::bytes_elsewhere() {
  if (parts_.contest.declared()) forget_what_is_known();
  uint64_t elsewhere = 0;
  PMIO_TRY(meet_nodes({}, false, &elsewhere));
  return elsewhere;
}

void Spanning::declare_contest_here() {
  parts_.contest.declare();
  forget_what_is_known();
}

void Spanning::forget_what_is_known() {
  parts_.changes.forget_here();
  if (file_.all_drained()) note_truncation();
}

// If a node is gone, its cache is too.
void Spanning::forget_elsewhere() { (void)neighbours_.forget(number()); }

// A round, which looks at this when it ends, may wait for this rank.
void Spanning::note_truncation() { file_.control->truncations.fetch_add(1, std::memory_order_acq_rel); }

void Spanning::truncated_elsewhere() { (void)neighbours_.truncated(number()); }

Status Spanning::discard_here() {
  {
    RobustLock lock(file_.control->index_mutex);
    // All that is published, of calls too that are not finished on all nodes.
    file_.control->horizon.store(std::max(horizon(), call_stamp(last_call() + 1, 0)),
                                 std::memory_order_seq_cst);
  }
  return file_.drainer->discard();
}

Status Spanning::discard() {
  PMIO_TRY(discard_here());
  return neighbours_.discard(number());
}

}  // namespace pmio
