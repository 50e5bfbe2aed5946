// Files that rest: closed, complete, and with what of them is still in this rank's log. Opened again by the
// job they go on as if they had never been closed. So reads come from the log, if nobody outside of the job
// has written the file meanwhile (decision 0014). Only files whose ranks are on several nodes rest: those of
// one node are in its page cache.
//
// Whoever has written shows in the file's time of modification, which the close has set back
// (TargetFile::set_back); on file systems where it tells (tells_of_writes).
#include "span/resting.h"

#include <chrono>
#include <thread>

#include "base/file_system.h"
#include "node/job_impl.h"
#include "span/spanning.h"

namespace pmio {

void Spanning::lay_down() {
  file_.target->lay_down();
  reader_.reset();
}

void Spanning::take_up(std::unique_ptr<TargetFile> opened) {
  file_.target->take_up(std::move(opened));
  resting_.end();
  // It may have been truncated. All ranks are in the open, and nobody has logged anything since the close.
  file_.control->truncations.fetch_add(1, std::memory_order_acq_rel);
  file_.control->known_size.store(UINT64_MAX, std::memory_order_release);
  file_.control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
}

// What is read from now on is read anew.
void Spanning::synced() {
  resting_.note_sync();
  file_.control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
}

RestingState Spanning::resting_state(bool decides) {
  return resting_.state(decides && !file_.job->files.has_other_handles(parts_));
}

void Resting::note_sync() { others_know(state_to_know()); }

void Resting::note_uncertain() { others_know({}); }

void Resting::compare() {
  if (!woken_)
    mtime_reliable_ =
        file_.job->member->options().keep_closed && tells_of_writes(file_system_of(file_.target->fd()));
  std::optional<FileState> at_open;
  if (mtime_reliable_) {
    if (auto now = file_.target->state(true); now.ok()) at_open = *now;
  }
  if (woken_ && at_open != closed_) {
    const RobustLock lock(file_.control->index_mutex);
    stop_serving_all(*file_.control);
  }
  const LockGuard lock(known_mutex_);
  known_ = {newest_drained(*file_.control), at_open, 0};
}

// Before a sync returns. What others write from then on has another time, also by a clock that is a little
// behind: the last write was long enough ago.
std::optional<FileState> Resting::state_to_know() {
  if (!mtime_reliable_) return {};
  auto state = file_.target->state(true);
  if (!state.ok()) return {};
  using std::chrono::nanoseconds;
  constexpr nanoseconds kWait(TargetFile::kSetBackNs);
  const nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const nanoseconds wait = nanoseconds(state->mtime_ns) + kWait - now;
  if (wait > kWait) return {};  // written by a clock that is ahead
  std::this_thread::sleep_for(wait);
  return *state;
}

// Of all that has been drained. state: of the file, taken before.
void Resting::others_know(const std::optional<FileState>& state) {
  const LockGuard lock(known_mutex_);
  const CallStamp drained = newest_drained(*file_.control);
  if (drained == known_.upto && state && state == known_.state) return;
  known_ = {drained, state, known_.upto};
}

Resting::Known Resting::known_by_others() {
  const LockGuard lock(known_mutex_);
  return known_;
}

bool Resting::is_as(const Known& known_then) const {
  if (known_then.upto != newest_drained(*file_.control) || !known_then.state) return false;
  auto now = file_.target->state(true);
  return now.ok() && *now == *known_then.state;
}

// If the job has drained since others know of the file, its own writes hide theirs. Those records they may
// have written over, but not what has been drained since.
RestingState Resting::state(bool may_rest) {
  if (!mtime_reliable_) return {};
  const Known known = known_by_others();
  const bool same = is_as(known);
  RestingState resting{known.upto, same ? known.uncertain : known.upto};
  if (!may_rest) return resting;
  // Else the times are left alone.
  auto left = same ? Result<FileState>(*known.state) : file_.target->set_back();
  if (!left.ok()) return resting;
  resting.rests = 1;
  resting.set_back = same ? 0 : 1;
  resting.size_bytes = left->size_bytes;
  resting.mtime_ns = left->mtime_ns;
  return resting;
}

bool Resting::begin(const RestingState& resting) {
  closed_ = {resting.size_bytes, resting.mtime_ns};
  // If the times have been set back, nobody can tell any more who has written before.
  const uint64_t hidden = resting.set_back != 0 ? resting.known : resting.uncertain;
  const RobustLock lock(file_.control->index_mutex);
  stop_serving_upto(*file_.control, hidden);
  return mtime_reliable_ && hidden < newest_drained(*file_.control);
}

}  // namespace pmio
