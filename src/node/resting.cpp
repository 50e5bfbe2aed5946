// Files that rest: closed, complete, and with what of them is still in this rank's log. Opened again by the
// job they go on as if they had never been closed, so that reads come from the log, where nobody outside of
// the job has written the file meanwhile (decision 0014). Only files whose ranks are on several nodes rest:
// those of one node are in its page cache.
//
// Whoever has written shows in the file's time of modification, which the close has set back
// (TargetFile::set_back); on file systems where it tells (tells_of_writes).
#include <algorithm>

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
    std::lock_guard lock(append_mutex);
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

bool File::Impl::tells() const {
  return job->options.keep_closed && tells_of_writes(file_system_of(target->fd()));
}

// When all ranks are in the open, and what dead jobs had left for the file is in it.
void File::Impl::compare() {
  synced = false;
  opened_cut = finished_cut();
  at_open.reset();
  if (tells()) {
    if (auto now = target->state(true); now.ok()) at_open = *now;
  }
  if (!woken || at_open == closed) return;
  const RobustLock lock(control->index_mutex);
  conceal_all(*control);
}

// What others write while the file is open shows in its times as long as the job changes nothing in it. They
// may write over what a sync has told them is there, or a close before.
bool File::may_rest() const {
  const Impl& impl = *impl_;
  if (!spans_nodes() || impl.synced || !impl.at_open || has_other_handles()) return false;
  if (!impl.woken) return true;
  auto now = impl.target->state(true);
  return now.ok() && *now == *impl.at_open && finished_cut() == impl.opened_cut;
}

std::optional<FileState> File::state_to_rest() {
  const bool changed = finished_cut() != impl_->opened_cut;
  // Else the times are left alone.
  auto state = changed ? impl_->target->set_back() : impl_->target->state(true);
  const bool known = state.ok() && (changed || (impl_->woken && *state == impl_->closed));
  return known ? std::optional(*state) : std::nullopt;
}

bool File::has_rested() const { return impl_->woken; }

}  // namespace pmio
