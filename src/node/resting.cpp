// Files that rest: closed, complete, and with what of them is still in this rank's log. Opened again by the
// job they go on as if they had never been closed, so that reads come from the log, where nobody outside of
// the job has written the file meanwhile (decision 0014). Only files whose ranks are on several nodes rest:
// those of one node are in its page cache.
//
// Whoever has written shows in the file's time of modification, which the close has set back
// (TargetFile::set_back); on file systems where it tells (tells_of_writes).
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file_system.h"
#include "node/file_impl.h"

namespace pmio {

constexpr size_t kMostResting = 2;  // of a process

void Job::Impl::rest(std::shared_ptr<File> file) {
  File::Impl& impl = *file->impl_;
  impl.target->lay_down();
  impl.reader.reset();
  impl.window.reset();
  impl.around_gaps.reset();
  forget_nodes(impl);
  files.erase(impl.key);
  resting.push_back(std::move(file));
  if (resting.size() <= kMostResting) return;
  // Now, before somebody opens it.
  resting.front()->impl_->let_go();
  resting.pop_front();
}

std::shared_ptr<File> Job::Impl::wake(const std::string& key, const FileIdentity& identity,
                                      std::unique_ptr<TargetFile>& target) {
  const auto at =
      std::find_if(resting.begin(), resting.end(), [&](const auto& file) { return file->impl_->key == key; });
  if (at == resting.end()) return nullptr;
  std::shared_ptr<File> file = std::move(*at);
  resting.erase(at);
  File::Impl& impl = *file->impl_;
  const bool same = same_file(impl.identity, identity) && impl.path == target->path();
  if (!same || !note_nodes(impl).ok()) {
    // One that is gone, whose inode number this one has; or by another name, which is in its log. Now, before
    // this one is in the log by the same key.
    impl.let_go();
    return nullptr;
  }
  impl.wake(std::move(target));
  return file;
}

bool Job::Impl::recycle_resting() {
  std::vector<std::shared_ptr<File>> them;
  {
    std::lock_guard lock(files_mutex);
    them.assign(resting.begin(), resting.end());
  }
  return std::any_of(them.begin(), them.end(), [](const auto& file) {
    std::unique_lock lock(file->impl_->append_mutex, std::try_to_lock);
    return lock.owns_lock() && file->impl_->free_oldest_drained();
  });
}

uint32_t Job::Impl::resting_segments() {
  std::lock_guard lock(files_mutex);
  size_t segments = 0;
  for (const auto& file : resting) {
    std::unique_lock append_lock(file->impl_->append_mutex, std::try_to_lock);
    if (append_lock.owns_lock()) segments += file->impl_->owned.size();
  }
  return static_cast<uint32_t>(segments);
}

Result<SegmentPool::Segment*> Job::Impl::acquire_segment() {
  // One that has been touched, of a file that rests, rather than a new one.
  if (pool->free() == 0) (void)recycle_resting();
  return pool->acquire();
}

void File::Impl::let_go() {
  {
    // By try_lock, for files_mutex is held. Who has it is just freeing a segment, and wants no further lock.
    std::unique_lock lock(append_mutex, std::defer_lock);
    while (!lock.try_lock()) std::this_thread::yield();
    while (!owned.empty()) detach(0);
  }
  leave();
}

void File::Impl::wake(std::unique_ptr<TargetFile> opened) {
  target->take_up(std::move(opened));
  woken = true;
  // It may have been cut. All ranks are in the open, and nobody has logged anything since the close.
  control->truncations.fetch_add(1, std::memory_order_acq_rel);
  control->known_size.store(UINT64_MAX, std::memory_order_release);
  control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
}

// When all ranks are in the open, and what dead jobs had left for the file is in it.
void File::Impl::compare() {
  if (!woken) tells = job->options.keep_closed && tells_of_writes(file_system_of(target->fd()));
  std::optional<FileState> at_open;
  if (tells) {
    if (auto now = target->state(true); now.ok()) at_open = *now;
  }
  if (woken && at_open != closed) {
    const RobustLock lock(control->index_mutex);
    conceal_all(*control);
  }
  const std::lock_guard lock(known_to_others_mutex);
  known_to_others = {newest_drained(*control), at_open, 0};
}

// Before a sync returns. What others write from then on has another time, also by a clock that is a little
// behind: the last write was long enough ago.
std::optional<FileState> File::Impl::state_to_know() {
  if (!tells) return {};
  auto state = target->state(true);
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
void File::Impl::others_know(const std::optional<FileState>& state) {
  const std::lock_guard lock(known_to_others_mutex);
  const CallStamp drained = newest_drained(*control);
  if (drained == known_to_others.upto && state && state == known_to_others.state) return;
  known_to_others = {drained, state, known_to_others.upto};
}

File::Impl::Known File::Impl::known_by_others() {
  const std::lock_guard lock(known_to_others_mutex);
  return known_to_others;
}

bool File::Impl::is_as(const Known& known_then) const {
  if (known_then.upto != newest_drained(*control) || !known_then.state) return false;
  auto now = target->state(true);
  return now.ok() && *now == *known_then.state;
}

// Where the job has drained since others know of the file, its own writes hide theirs: those records they may
// have written over, but not what has been drained since.
File::Settled File::settle(bool decides) {
  Impl& impl = *impl_;
  if (!impl.tells) return {};
  const Impl::Known known = impl.known_by_others();
  const bool same = impl.is_as(known);
  Settled settled{known.upto, same ? known.uncertain : known.upto};
  if (!decides || has_other_handles()) return settled;
  // Else the times are left alone.
  auto left = same ? Result<FileState>(*known.state) : impl.target->set_back();
  if (!left.ok()) return settled;
  settled.rests = 1;
  settled.set_back = same ? 0 : 1;
  settled.size_bytes = left->size_bytes;
  settled.mtime_ns = left->mtime_ns;
  return settled;
}

bool File::Impl::take(const Settled& settled) {
  closed = {settled.size_bytes, settled.mtime_ns};
  // Where the times have been set back, nobody can tell any more who has written before.
  const uint64_t hidden = settled.set_back != 0 ? settled.known : settled.uncertain;
  const RobustLock lock(control->index_mutex);
  conceal_upto(*control, hidden);
  return tells && hidden < newest_drained(*control);
}

bool File::has_rested() const { return impl_->woken; }

}  // namespace pmio
