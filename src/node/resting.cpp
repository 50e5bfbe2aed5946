// Files that rest: closed, complete, and with what of them is still in this rank's log. Opened again by the
// job they go on as if they had never been closed, so that reads come from the log, where nobody outside of
// the job has written the file meanwhile (decision 0014). Only files whose ranks are on several nodes rest:
// those of one node are in its page cache.
//
// Whoever has written shows in the file's time of modification, which the close has set back
// (TargetFile::set_back); on file systems where it tells (tells_of_writes).
#include <algorithm>

#include "node/file_impl.h"

namespace pmio {

constexpr size_t kMostResting = 4;  // of a process

void Job::Impl::rest(std::shared_ptr<File> file, std::shared_ptr<File>* dropped) {
  resting.push_back(std::move(file));
  if (resting.size() <= kMostResting) return;
  *dropped = std::move(resting.front());
  resting.pop_front();
}

std::shared_ptr<File> Job::Impl::wake(const std::string& key, const FileIdentity& identity,
                                      std::unique_ptr<TargetFile>& target) {
  const auto at =
      std::find_if(resting.begin(), resting.end(), [&](const auto& file) { return file->impl_->key == key; });
  if (at == resting.end()) return nullptr;
  std::shared_ptr<File> file = std::move(*at);
  resting.erase(at);
  const bool same = same_file(file->impl_->identity, identity) && file->impl_->path == target->path();
  if (!same) {
    // One that is gone, whose inode number this one has; or by another name, which is in its log. Now, before
    // this one is in the log by the same key.
    file->impl_->let_go();
    return nullptr;
  }
  file->impl_->wake(std::move(target));
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
  if (!pool->has_free()) (void)recycle_resting();
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
  reader.reset();
  woken = true;
  // It may have been cut. All ranks are in the open, and nobody has logged anything since the close.
  control->truncations.fetch_add(1, std::memory_order_acq_rel);
  control->known_size.store(UINT64_MAX, std::memory_order_release);
  control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  auto now = target->state(true);
  if (now.ok() && *now == closed) return;
  const RobustLock lock(control->index_mutex);
  conceal_all(*control);
}

}  // namespace pmio
