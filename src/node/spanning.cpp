// A file whose ranks are on several nodes: what it asks of the other nodes, and what they ask of this one.
//
// Nobody reads or writes a byte of the file itself before what another node has logged of it has been
// drained, and what another node has written past its log has been synced (decision 0011).
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/atomic_max.h"
#include "drain/blocks.h"
#include "node/file_impl.h"

namespace pmio {

constexpr useconds_t kPollMicroseconds = 50;
constexpr int kPollsPerLook = 1000;
constexpr unsigned kDrainsWithoutStarted = 3;
constexpr size_t kMostEntries = 65536;  // drained ones; beyond this many a range is taken to be cached

bool File::spans_nodes() const { return impl_->neighbours != nullptr; }

uint64_t File::writes_synced() const { return impl_->control->unsynced.synced(); }

bool File::has_other_handles() const {
  std::lock_guard lock(impl_->job->files_mutex);
  return impl_->handles > 1;
}

uint64_t File::number() const { return impl_->number.load(std::memory_order_acquire); }

uint64_t File::last_call() const {
  uint64_t last = std::max(impl_->cell->begun.load(std::memory_order_relaxed), stamp_calls(cut()));
  for (uint32_t rank = 0; rank < impl_->control->ranks; rank++)
    last = std::max(last, impl_->control->cells[rank].completed.load(std::memory_order_acquire));
  return last;
}

CallStamp File::cut() const { return impl_->control->cut.load(std::memory_order_acquire); }

CallStamp File::finished_cut() const { return impl_->finished_cut(); }

CallStamp File::Impl::finished_cut() const {
  const RobustLock lock(control->drain_mutex);
  return ledger.read().cut.value_or(0);
}

// A node whose ranks had all closed the file begins anew; the others are not at their beginning. It holds
// nothing of the rounds that they have finished, and so its ledger may say that it has finished them too.
// The ledger of a node that goes on with its log is left as it is: the cut was raised by rounds too that have
// failed, or that only other nodes have finished. Recovery sees this by comparing the ledgers; else it would
// replay what this node still has of such a round over newer bytes that another one counts as drained.
Status File::Impl::raise_cut(CallStamp cut, CallStamp finished) {
  const RobustLock lock(control->drain_mutex);
  if (control->cut.load(std::memory_order_relaxed) == 0) {
    LedgerState state = ledger.read();
    if (state.cut.value_or(0) < finished || state.round == 0) {
      state.target = identity;
      state.cut = finished;
      PMIO_TRY(ledger.update(state));
    }
  }
  raise_to(control->clock, stamp_clock(cut));
  const RobustLock index_lock(control->index_mutex);
  if (control->cut.load(std::memory_order_relaxed) < cut) control->cut.store(cut, std::memory_order_release);
  return {};
}

Status File::join_nodes(const Agreed& all) {
  const bool first = !has_other_handles();  // on all ranks the same
  if (first) {
    PMIO_TRY(impl_->raise_cut(all.cut, all.finished_cut));
    // Where a node has the file from an earlier open, others may not.
    impl_->control->synced_elsewhere.start_over();
    impl_->compare();
  }
  // Of a file that is open already a rank may have begun a nonblocking call, before this open or after it.
  if (first) {
    impl_->cell->begun.store(all.last_call, std::memory_order_release);
    impl_->cell->completed.store(all.last_call, std::memory_order_release);
    impl_->last_waiting.store(all.last_call, std::memory_order_relaxed);
    impl_->control->known_size.store(all.size, std::memory_order_release);
    impl_->number.store(all.number, std::memory_order_release);
    // What a handle that is handed on has to know of, other nodes may log from now on.
    if (std::atomic<uint64_t>* logged = impl_->job->options.files_logged)
      logged->fetch_add(1, std::memory_order_release);
  }
  return {};
}

void File::begin_call(bool may_wait) {
  impl_->call_mutex.lock();
  impl_->cell->begun.store(impl_->cell->begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  (may_wait ? impl_->last_waiting : impl_->only_started)
      .store(impl_->cell->begun.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void File::end_call() {
  // Release: who sees that the call is over sees its records.
  impl_->cell->completed.store(impl_->cell->begun.load(std::memory_order_relaxed), std::memory_order_release);
  impl_->call_mutex.unlock();
}

uint64_t File::calls_finished_here() const {
  uint64_t finished = UINT64_MAX;
  for (uint32_t rank = 0; rank < impl_->control->ranks; rank++) {
    const RankCell& cell = impl_->control->cells[rank];
    if (cell.attached.load(std::memory_order_acquire) != 0)
      finished = std::min(finished, cell.completed.load(std::memory_order_acquire));
  }
  return finished;
}

uint64_t File::calls_begun_here() const {
  uint64_t begun = 0;
  for (uint32_t rank = 0; rank < impl_->control->ranks; rank++) {
    const RankCell& cell = impl_->control->cells[rank];
    if (cell.attached.load(std::memory_order_acquire) != 0)
      begun = std::max(begun, cell.begun.load(std::memory_order_acquire));
  }
  return begun;
}

uint64_t File::clock() const { return impl_->control->clock.load(std::memory_order_seq_cst); }

bool File::Impl::all_drained_here() const {
  if (control->closing.load(std::memory_order_acquire) != 0) return false;
  for (uint32_t rank = 0; rank < control->ranks; rank++) {
    const RankCell& of_rank = control->cells[rank];
    const uint64_t drained = of_rank.drained_records.load(std::memory_order_acquire);
    if (of_rank.appended.load(std::memory_order_acquire) != drained) return false;
  }
  return true;
}

Status File::Impl::drain_log(bool room) {
  if (neighbours == nullptr) return drainer->drain();
  if (job->lost_log->is_known(*control)) job->lost_log->give_up();
  PMIO_TRY(control->unsynced.sync(*target));
  if (number == 0 || all_drained_here()) return {};
  return room ? neighbours->drain(number, cell->begun.load(std::memory_order_relaxed), false)
              : neighbours->drain(number, cell->completed.load(std::memory_order_relaxed), true);
}

Status File::drain_all_nodes(bool will_write) {
  // Before the drain: it waits for a round that has begun under another rule.
  if (will_write) impl_->control->written_aside.store(1, std::memory_order_seq_cst);
  PMIO_TRY(impl_->drain_everywhere(will_write));
  if (spans_nodes() && impl_->number != 0) impl_->others_know({});
  return {};
}

Status File::Impl::drain_everywhere(bool will_write) {
  PMIO_TRY(drain_log(false));
  if (neighbours == nullptr || number == 0) return {};
  const Vector all{0, INT64_MAX, 0, 1};
  uint64_t end = 0;
  return meet_nodes({&all, 1}, will_write, &end);
}

Status File::Impl::drain_what_can_be() {
  return number == 0 || all_drained_here() ? Status() : neighbours->drain(number, 0, false);
}

Status File::Impl::meet_nodes(std::span<const Vector> ranges, bool will_write, uint64_t* end) {
  if (only_read && !will_write) {
    *end = 0;  // no node knows more than this one
    return {};
  }
  const uint64_t finished = cell->completed.load(std::memory_order_relaxed);
  if (!will_write && !ranges.empty()) {
    // Both only grow.
    const uint64_t changes = control->foreign_writes.load(std::memory_order_seq_cst) +
                             control->foreign_leases.load(std::memory_order_seq_cst);
    const auto clear =
        others.clear_of(*neighbours, number, finished, changes, ranges, &control->synced_elsewhere, end);
    if (!clear.ok()) return clear.status();
    if (clear.value()) {
      *end = std::max(*end, logged_end());
      return {};
    }
  }
  CallStamp upto = last_stamp_of(finished);
  // Ranks need not come to a call that was only started, unless what it has written is what is asked for.
  const uint64_t waiting = std::min(finished, last_waiting.load(std::memory_order_relaxed));
  for (unsigned asked = 0;; asked++) {
    bool held = false;
    if (will_write) PMIO_TRY(answer(upto, ranges, true, &held));
    const auto answers = neighbours->ask(number, upto, ranges,
                                         will_write ? Neighbours::Purpose::write : Neighbours::Purpose::read);
    if (!answers.ok()) return answers.status();
    *end = std::max(logged_end(), answers.value().end);
    control->synced_elsewhere.learn(answers.value().synced);
    if (!answers.value().undrained && !held) return {};
    // What others go on to log independently is nothing that this rank has learnt of.
    const uint64_t clock = std::max(answers.value().clock, control->clock.load(std::memory_order_seq_cst));
    upto = std::min(upto, call_stamp(finished, std::min(clock, kLastClock)));
    PMIO_TRY(neighbours->drain(number, asked < kDrainsWithoutStarted ? waiting : finished, asked > 0));
  }
}

Status File::Impl::await_rank(const std::function<bool()>& done) const {
  for (int polls = 1; !done(); polls++) {
    if (polls % kPollsPerLook == 0 && drainer->some_rank_died())
      return {Code::io, "a rank that has the file open has died", EOWNERDEAD};
    usleep(kPollMicroseconds);
  }
  return {};
}

// Rounds that all nodes have written, changes of the size and the like, and independent writes.
uint64_t File::Impl::changes_seen() const {
  return control->ledger_updates.load(std::memory_order_seq_cst) +
         control->foreign_writes.load(std::memory_order_seq_cst) + control->synced_elsewhere.changes();
}

Status File::Impl::await_older_reads(uint64_t changes) const {
  for (uint32_t rank = 0; rank < control->ranks; rank++) {
    const std::atomic<uint64_t>& reading = control->cells[rank].reading;
    PMIO_TRY(await_rank([&] { return reading.load(std::memory_order_seq_cst) - 1 >= changes; }));
  }
  return {};
}

// A file system's client may keep what it has read, and read ahead, for each open file: MooseFS's for
// seconds. The kernel keeps pages for all of them: what is read by an old one is there for the new ones too.
Result<FreshReader*> File::Impl::fresh_reader() {
  uint64_t changes = changes_seen();
  for (;;) {
    cell->reading.store(changes + 1, std::memory_order_seq_cst);
    const uint64_t now = changes_seen();
    if (now == changes) break;
    changes = now;
  }
  if (reader == nullptr || changes != reader_changes) {
    reader.reset();
    auto opened = target->reopen_past_cache();
    if (!opened.ok()) return opened.status();
    if (!(*opened)->past_cache()) PMIO_TRY(await_older_reads(changes));
    reader = std::make_unique<FreshReader>(std::move(opened.value()));
    reader_changes = changes;
  }
  if (const uint64_t writes = control->writes_past_log.load(std::memory_order_seq_cst);
      writes != reader_writes) {
    reader->forget_ahead();
    reader_writes = writes;
  }
  return reader.get();
}

Status File::Impl::meet_nodes(PatternCursor file, uint64_t bytes, uint64_t* end) {
  std::vector<Vector> ranges;
  while (bytes > 0) {
    ranges.push_back(file.next(bytes));
    bytes -= ranges.back().bytes();
    if (ranges.size() < kMostRangesAsked || bytes == 0) continue;
    // Too many to tell them all: one that holds them.
    ranges.assign(1, span_of(ranges));
  }
  return meet_nodes(ranges, false, end);
}

// Whether this node's logs hold bytes of the range: undrained ones, with stamps up to `upto`, or drained ones
// that are still served.
Status File::Impl::holds(const Vector& range, CallStamp upto, FileIndex::Which which, bool* found) {
  const bool dirty = which == FileIndex::Which::undrained;
  const auto a = static_cast<uint64_t>(range.offset);
  const auto b = static_cast<uint64_t>(range.end());
  std::vector<Entry> candidates;
  if (dirty) PMIO_TRY(index->scan_tail(a, b, &candidates));
  PMIO_TRY(index->refresh());
  // Of undrained ones all are looked at: later ones do not count.
  const size_t most = dirty ? SIZE_MAX : kMostEntries;
  *found = !index->find(a, b, concealed_throughout(*control, a, b), most, &candidates, which);
  FileEntrySource source(control, job->map.get());
  for (const Entry& entry : candidates) {
    if (*found) return {};
    if (dirty && entry.stamp_ns > upto) continue;
    EntrySource::Located located;
    *found = !source.locate(entry, &located) || may_share_a_byte(range, located.range);
  }
  return {};
}

void File::Impl::conceal(const Vector& range) {
  RobustLock lock(control->index_mutex);
  const uint64_t first = static_cast<uint64_t>(range.offset) / kWindowBytes;
  const uint64_t last = (static_cast<uint64_t>(range.end()) - 1) / kWindowBytes;
  if (last - first >= kMaxStale) return conceal_all(*control);
  for (uint64_t at = first; at <= last; at++)
    conceal_window(*control, at, control->cut.load(std::memory_order_relaxed));
}

Status File::Impl::answer(CallStamp upto, std::span<const Vector> ranges, bool will_write, bool* held) {
  *held = false;
  std::lock_guard lock(read_mutex);
  if (!all_drained_here()) {
    for (const Vector& range : ranges) {
      PMIO_TRY(holds(range, upto, FileIndex::Which::undrained, held));
      if (*held) return {};
    }
  }
  // Looked at afterwards: a round that begins to close has been seen above. Until all nodes have finished it
  // another one may still serve older bytes, and recovery may write these again.
  if (!ranges.empty() && control->closing.load(std::memory_order_acquire) != 0) {
    *held = true;
    return {};
  }
  if (!will_write) return {};
  for (const Vector& range : ranges) {
    bool cached = false;
    PMIO_TRY(holds(range, upto, FileIndex::Which::drained, &cached));
    if (cached) conceal(range);
  }
  return {};
}

Status File::answer(CallStamp upto, std::span<const Vector> ranges, Neighbours::Purpose purpose,
                    bool* undrained) {
  FileControl& control = *impl_->control;
  if (purpose != Neighbours::Purpose::read) PMIO_TRY(impl_->give_up_leases(ranges));
  // What this node's ranks know of the file may be old from now on (Survey).
  if (purpose == Neighbours::Purpose::log) {
    control.foreign_leases.fetch_add(1, std::memory_order_seq_cst);
    return {};
  }
  const bool will_write = purpose == Neighbours::Purpose::write;
  if (will_write) control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  if (control.unsynced.holds(ranges)) PMIO_TRY(control.unsynced.sync(*impl_->target));
  return impl_->answer(upto, ranges, will_write, undrained);
}

bool File::some_rank_died() const { return impl_->drainer->some_rank_died(); }

bool File::all_drained_here() const { return impl_->all_drained_here(); }

void File::fail(int error) {
  impl_->control->error.store(error, std::memory_order_relaxed);
  impl_->control->error_number.fetch_add(1, std::memory_order_release);
}

Status File::discard_here() {
  if (spans_nodes()) {
    RobustLock lock(impl_->control->index_mutex);
    // All that is published, of calls too that are not finished on all nodes.
    impl_->control->cut.store(std::max(cut(), call_stamp(last_call() + 1, 0)), std::memory_order_seq_cst);
  }
  return impl_->drainer->discard();
}

}  // namespace pmio
