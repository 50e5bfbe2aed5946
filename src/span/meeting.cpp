// What a node asks of the others before it reads or writes a byte of the file itself, and what it answers.
#include <algorithm>

#include "drain/blocks.h"
#include "node/job_impl.h"
#include "span/spanning.h"

namespace pmio {

constexpr unsigned kDrainsWithoutStarted = 3;
constexpr size_t kMostEntries = 65536;  // drained ones; beyond this many a range is taken to be cached

Status Spanning::before_read(std::span<const Vector> ranges, uint64_t* end) {
  if (parts_.contest.declared()) [[unlikely]]
    forget_what_is_known();
  return meet_nodes(ranges, false, end);
}

Status Spanning::before_read(PatternCursor file, uint64_t bytes, uint64_t* end) {
  if (parts_.contest.declared()) [[unlikely]]
    forget_what_is_known();
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

Status Spanning::before_direct_write(std::span<const Vector> ranges) {
  uint64_t end = 0;
  return meet_nodes(ranges, true, &end);
}

// Whether the other nodes are known to hold nothing of the ranges, without a question for each.
Result<bool> Spanning::is_clear(std::span<const Vector> ranges, uint64_t finished, uint64_t* end) {
  // Both only grow.
  const uint64_t changes = file_.control->foreign_writes.load(std::memory_order_seq_cst) +
                           file_.control->foreign_leases.load(std::memory_order_seq_cst);
  auto clear =
      others_.clear_of(neighbours_, number(), finished, changes, ranges, &file_.control->remote_syncs, end);
  if (clear.ok() && clear.value()) *end = std::max(*end, parts_.logged_end.bytes());
  return clear;
}

Status Spanning::meet_nodes(std::span<const Vector> ranges, bool will_write, uint64_t* end) {
  if (file_.only_read && !will_write) {
    *end = 0;  // no node knows more than this one
    return {};
  }
  const uint64_t finished = file_.cell->completed.load(std::memory_order_relaxed);
  if (!will_write && !ranges.empty()) {
    const auto clear = is_clear(ranges, finished, end);
    if (!clear.ok()) return clear.status();
    if (clear.value()) return {};
  }
  // A thread may have learnt of the next call too, to which another thread of its rank is about to come.
  uint64_t learnt = finished + (threads_at_once() ? 1 : 0);
  CallStamp upto = last_stamp_of(learnt);
  // Ranks need not come to a call that was only started, unless what it has written is what is asked for.
  const uint64_t waiting = std::min(finished, last_waiting_.load(std::memory_order_relaxed));
  for (unsigned asked = 0;; asked++) {
    const Result<bool> held = will_write ? answer_here(upto, ranges, true) : false;
    if (!held.ok()) return held.status();
    const auto answers = neighbours_.ask(number(), upto, ranges,
                                         will_write ? Neighbours::Purpose::write : Neighbours::Purpose::read);
    if (!answers.ok()) return answers.status();
    *end = std::max(parts_.logged_end.bytes(), answers.value().end);
    file_.control->remote_syncs.learn(answers.value().synced);
    if (!answers.value().undrained && !held.value()) return {};
    // What others go on to log independently is nothing that this rank has learnt of.
    const uint64_t clock =
        std::max(answers.value().clock, file_.control->clock.load(std::memory_order_seq_cst));
    const uint64_t calls = asked < kDrainsWithoutStarted ? waiting : finished;
    // A drain of all up to a call brings in what there is of the next one, too.
    if (calls == finished && asked > 0) learnt = finished;
    upto = std::min(upto, call_stamp(std::min(learnt, kLastCall), std::min(clock, kLastClock)));
    PMIO_TRY(neighbours_.drain(number(), calls, asked > 0));
  }
}

// Whether this node's logs hold bytes of the range: undrained ones, with stamps up to `upto`, or drained ones
// that are still served.
Result<bool> Spanning::holds(const Vector& range, CallStamp upto, FileIndex::Which which) {
  const bool dirty = which == FileIndex::Which::undrained;
  const auto a = static_cast<uint64_t>(range.offset);
  const auto b = static_cast<uint64_t>(range.end());
  std::vector<Entry> candidates;
  if (dirty) PMIO_TRY(file_.index->scan_unmerged(a, b, &candidates));
  PMIO_TRY(file_.index->refresh());
  // Of undrained ones all are looked at: later ones do not count.
  const size_t most = dirty ? SIZE_MAX : kMostEntries;
  if (!file_.index->find(a, b, unserved_stamp_throughout(*file_.control, a, b), most, &candidates, which))
    return true;
  FileEntrySource source(file_.control, &file_.job->map);
  for (const Entry& entry : candidates) {
    if (dirty && entry.stamp_ns > upto) continue;
    EntrySource::Located located;
    if (!source.locate(entry, &located) || may_share_a_byte(range, located.range)) return true;
  }
  return false;
}

void Spanning::stop_serving(const Vector& range) {
  FileControl& control = *file_.control;
  RobustLock lock(control.index_mutex);
  const uint64_t first = static_cast<uint64_t>(range.offset) / kWindowBytes;
  const uint64_t last = (static_cast<uint64_t>(range.end()) - 1) / kWindowBytes;
  if (last - first >= kMaxStale) return stop_serving_all(control);
  for (uint64_t at = first; at <= last; at++)
    stop_serving_window(control, at, control.horizon.load(std::memory_order_relaxed));
}

Result<bool> Spanning::answer_here(CallStamp upto, std::span<const Vector> ranges, bool will_write) {
  std::lock_guard lock(parts_.reader.mutex());
  if (!file_.all_drained()) {
    for (const Vector& range : ranges) {
      Result<bool> held = holds(range, upto, FileIndex::Which::undrained);
      if (!held.ok() || held.value()) return held;
    }
  }
  // Looked at afterwards: a round that begins to close has been seen above. Until all nodes have finished it
  // another one may still serve older bytes, and recovery may write these again.
  if (!ranges.empty() && file_.control->closing.load(std::memory_order_acquire) != 0) return true;
  if (!will_write) return false;
  for (const Vector& range : ranges) {
    Result<bool> cached = holds(range, upto, FileIndex::Which::drained);
    if (!cached.ok()) return cached;
    if (cached.value()) stop_serving(range);
  }
  return false;
}

Result<bool> Spanning::answer(CallStamp upto, std::span<const Vector> ranges, Neighbours::Purpose purpose) {
  FileControl& control = *file_.control;
  // Before this node's ranks are looked at (settled_calls).
  if (purpose == Neighbours::Purpose::log) control.settled_questions.fetch_add(1, std::memory_order_seq_cst);
  if (purpose != Neighbours::Purpose::read) PMIO_TRY(give_up_leases(ranges));
  // What this node's ranks know of the file may be old from now on (RemoteHoldings).
  if (purpose == Neighbours::Purpose::log || purpose == Neighbours::Purpose::call) {
    control.foreign_leases.fetch_add(1, std::memory_order_seq_cst);
    return false;
  }
  if (parts_.contest.declared()) forget_what_is_known();
  const bool will_write = purpose == Neighbours::Purpose::write;
  if (will_write) control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  if (control.writes_to_sync.holds(ranges)) PMIO_TRY(control.writes_to_sync.sync(*file_.target));
  return answer_here(upto, ranges, will_write);
}

}  // namespace pmio
