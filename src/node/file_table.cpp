#include "node/file_table.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/atomic_max.h"
#include "node/catch_up.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

constexpr size_t kMostResting = 2;  // of a process
constexpr size_t kMostLagging = 8;  // of a process: each has a descriptor

Result<std::shared_ptr<File>> FileTable::open(const Job::OpenOptions& how, const FileIdentity& identity,
                                              std::unique_ptr<TargetFile> target) {
  const std::string key = file_key(identity);
  const LockGuard lock(mutex_);
  std::shared_ptr<File> file;
  if (auto at = files_.find(key); at != files_.end()) file = at->second.lock();
  if (file != nullptr && !how.read_only && !file->target().open_to_write().ok())
    return Status(Code::access, "'" + how.path + "' is open already, and could only be read then");
  if (file != nullptr && file->reach().span() != how.reach.span)
    return Status(Code::busy, "'" + how.path + "' is open by other ranks, too");
  if (file == nullptr) {
    file = wake(key, identity, how.reach.span, target);
    if (file != nullptr) files_[key] = file;
  }
  if (file == nullptr) {
    auto made = File::attach(job_, key, identity, std::move(target), how);
    if (!made.ok()) return made;
    file = std::move(made).value();
    files_[key] = file;
  }
  if (unfinished_.erase(key) > 0) file->errors().forgive();
  FileParts& parts = file->parts();
  std::erase(lagging_, file);
  parts.set_lags(false);
  const bool first = parts.handles++ == 0;
  if (first) parts.large_pieces.set(how.reach.spans_nodes() ? DirectFrom{} : how.direct_from);
  parts.shared.only_read = how.read_only && (first || parts.shared.only_read);
  parts.shared.closes_in_background =
      how.closes_in_background && (first || parts.shared.closes_in_background);
  parts.background_drain.hold_back(how.holds_back && (first || parts.background_drain.holds_back()));
  job_.start_background();
  if (how.reach.spans_nodes()) job_.start_pulse();
  return file;
}

std::shared_ptr<File> FileTable::find(const std::string& key) {
  const LockGuard lock(mutex_);
  const auto at = files_.find(key);
  return at == files_.end() ? nullptr : at->second.lock();
}

std::shared_ptr<File> FileTable::find_number(uint64_t number) {
  for (auto& file : open_files())
    if (file->reach().number() == number) return file;
  return nullptr;
}

std::shared_ptr<File> FileTable::find_inode(uint64_t inode, uint64_t birth_ns, Span span) {
  const LockGuard lock(mutex_);
  for (const auto& [key, weak] : files_) {
    auto file = weak.lock();
    if (file == nullptr || file->reach().span() != span) continue;
    if (file->identity().inode == inode && file->identity().birth_ns == birth_ns) return file;
  }
  return nullptr;
}

void FileTable::forget_handle(File& file) {
  const LockGuard lock(mutex_);
  file.parts().handles--;
}

bool FileTable::has_other_handles(const FileParts& file) {
  const LockGuard lock(mutex_);
  return file.handles > 1;
}

bool FileTable::begin_release(File& file) {
  const LockGuard lock(mutex_);
  FileParts& parts = file.parts();
  PMIO_ASSERT(parts.handles > 0);
  if (--parts.handles > 0) return false;
  parts.releasing++;
  return true;
}

std::shared_ptr<File> FileTable::end_release(File& file, const Status& drained,
                                             const std::optional<RestingState>& resting) {
  FileParts& parts = file.parts();
  const std::string& key = parts.shared.key;
  parts.appender.counts_as_held();  // by Closing
  const LockGuard lock(mutex_);
  // Else another thread has opened it meanwhile, and may have logged more: its own release sees to that.
  const bool last = --parts.releasing == 0 && parts.handles == 0;
  std::shared_ptr<File> self = files_[key].lock();
  if (!drained.ok()) {
    parts.set_lags(false);
    parts.appender.seal();
    parts.reach->stays_open();
    job_.member->keep_log();
    if (last && self != nullptr) unfinished_[key] = self;
    return self;
  }
  if (!last) return self;
  // Nobody but the caller has it, and uses its target.
  if (resting && self.use_count() == 2 && parts.reach->rests_as(*resting)) {
    rest(self);
    return self;
  }
  parts.appender.give_all_back();
  // Now, for somebody may hold this object a moment longer, and an open that follows may mean another file of
  // the same inode number.
  files_.erase(key);
  parts.leave();
  return self;
}

bool FileTable::begin_lag(File& file) {
  const auto are_many = [this] {
    const LockGuard lock(mutex_);
    return lagging_.size() >= kMostLagging;
  };
  while (are_many())
    if (!complete_oldest()) return false;
  const LockGuard lock(mutex_);
  job_.start_catch_up();
  if (job_.catch_up == nullptr) return false;
  if (file.parts().handles == 1) file.parts().set_lags(true);
  return true;
}

std::shared_ptr<File> FileTable::end_release_later(File& file) {
  FileParts& parts = file.parts();
  const std::string& key = parts.shared.key;
  parts.appender.counts_as_held();  // by Closing
  const LockGuard lock(mutex_);
  const bool last = --parts.releasing == 0 && parts.handles == 0;
  std::shared_ptr<File> self = files_[key].lock();
  if (!last) return self;  // another thread has opened it meanwhile
  if (const uint64_t bytes = parts.large_pieces.if_cold_bytes(); bytes > 0)
    job_.catch_up->warm_log_for(bytes);
  // No node lets go of it before all have drained it: each has to take part in their round.
  if (parts.reach->spans_nodes() || parts.appender.owns_undrained()) {
    parts.set_lags(true);
    lagging_.push_back(self);
    job_.catch_up->wake();
    return self;
  }
  parts.appender.give_all_back();
  files_.erase(key);
  parts.leave();
  return self;
}

std::vector<std::shared_ptr<File>> FileTable::lagging() {
  const LockGuard lock(mutex_);
  return {lagging_.begin(), lagging_.end()};
}

Status FileTable::complete(const std::shared_ptr<File>& file) {
  PMIO_TRY(file->closing().is_gone() ? file->changes().discard() : file->drain(DrainScope::everywhere));
  FileParts& parts = file->parts();
  const LockGuard lock(mutex_);
  // Else somebody else has let it go meanwhile, or has opened it, and may have closed it again.
  const auto at = std::find(lagging_.begin(), lagging_.end(), file);
  if (at == lagging_.end()) return {};
  if (!parts.reach->is_drained()) {
    // If the leader of this node has given it up, no round brings this rank's bytes in any more.
    return parts.reach->spans_nodes()
               ? Status(Code::io, "a rank of the job has given up '" + parts.shared.path + "'", EIO)
               : Status();
  }
  lagging_.erase(at);
  files_.erase(parts.shared.key);
  parts.let_go();
  return {};
}

void FileTable::give_up(const std::shared_ptr<File>& file) {
  job_.member->keep_log();
  const LockGuard lock(mutex_);
  if (std::erase(lagging_, file) == 0) return;
  file->parts().set_lags(false);
  unfinished_[file->parts().shared.key] = file;
}

bool FileTable::complete_oldest() {
  std::shared_ptr<File> oldest;
  {
    const LockGuard lock(mutex_);
    if (lagging_.empty()) return false;
    oldest = lagging_.front();
  }
  return complete(oldest).ok();
}

bool FileTable::is_closed(const FileParts& file) {
  const LockGuard lock(mutex_);
  return file.handles == 0 && file.releasing == 0;
}

std::vector<std::shared_ptr<File>> FileTable::open_files() {
  std::vector<std::shared_ptr<File>> open;
  const LockGuard lock(mutex_);
  for (auto at = files_.begin(); at != files_.end();) {
    auto file = at->second.lock();
    if (file == nullptr) {
      at = files_.erase(at);
      continue;
    }
    const bool held_by_none = unfinished_.contains(at->first) && file.use_count() == 2;
    if (!held_by_none) open.push_back(std::move(file));
    ++at;
  }
  return open;
}

Status FileTable::drain_all() {
  for (const auto& file : open_files()) PMIO_TRY(file->drain(DrainScope::possible));
  return {};
}

static bool frees_one(File& file) {
  Appender& appender = file.parts().appender;
  if (!appender.mutex.try_lock()) return false;
  const bool frees = appender.frees_oldest_drained();
  appender.mutex.unlock();
  return frees;
}

bool FileTable::recycle_elsewhere(const Appender& own) {
  const auto files = open_files();
  return std::any_of(files.begin(), files.end(), [&own](const auto& file) {
    return &file->parts().appender != &own && frees_one(*file);
  });
}

bool FileTable::recycle_any() {
  const auto files = open_files();
  return std::any_of(files.begin(), files.end(), [](const auto& file) { return frees_one(*file); });
}

bool FileTable::recycle_resting() {
  std::vector<std::shared_ptr<File>> them;
  {
    const LockGuard lock(mutex_);
    them.assign(resting_.begin(), resting_.end());
  }
  return std::any_of(them.begin(), them.end(), [](const auto& file) { return frees_one(*file); });
}

uint32_t FileTable::resting_segments() {
  const LockGuard lock(mutex_);
  size_t segments = 0;
  for (const auto& file : resting_) {
    Appender& appender = file->parts().appender;
    if (!appender.mutex.try_lock()) continue;
    segments += appender.segments();
    appender.mutex.unlock();
  }
  return static_cast<uint32_t>(segments);
}

void FileTable::note_fill() {
  Counters& counters = job_.member->counters();
  const SegmentPool& pool = job_.member->pool();
  uint64_t bytes = 0;
  for (const auto& file : open_files()) bytes += file->parts().appender.undrained_segment_bytes();
  const uint64_t capacity = uint64_t{pool.limit()} * pool.segment_bytes();
  raise_to(counters.log_peak_bytes, std::min(bytes, capacity));  // small segments are beside it
  raise_to(counters.log_capacity_bytes, capacity);
}

// Without the lock: no other thread is left that uses the table, and a file that goes may ask it.
void FileTable::clear() PMIO_NO_THREAD_SAFETY_ANALYSIS {
  unfinished_.clear();
  lagging_.clear();
  resting_.clear();
}

// One that has rested for long may be let go for it.
void FileTable::rest(const std::shared_ptr<File>& file) {
  FileParts& parts = file->parts();
  parts.reach->lay_down();
  parts.reader.rest();
  job_.shared_files.forget_nodes(parts.shared);
  files_.erase(parts.shared.key);
  resting_.push_back(file);
  if (resting_.size() <= kMostResting) return;
  // Now, before somebody opens it.
  resting_.front()->parts().let_go();
  resting_.pop_front();
}

// The file that rests, with the target that has been opened for it; nullptr: none does.
std::shared_ptr<File> FileTable::wake(const std::string& key, const FileIdentity& identity, Span span,
                                      std::unique_ptr<TargetFile>& target) {
  const auto at = std::find_if(resting_.begin(), resting_.end(),
                               [&](const auto& file) { return file->parts().shared.key == key; });
  if (at == resting_.end()) return nullptr;
  std::shared_ptr<File> file = std::move(*at);
  resting_.erase(at);
  FileParts& parts = file->parts();
  const bool same = same_file(parts.shared.identity, identity) && parts.shared.path == target->path() &&
                    parts.reach->span() == span;
  if (!same || !parts.reach->note_nodes().ok()) {
    // One that is gone, whose inode number this one has; by another name, which is in its log; or by ranks of
    // another span. Now, before this one is in the log by the same key.
    parts.let_go();
    return nullptr;
  }
  parts.reach->take_up(std::move(target));
  return file;
}

}  // namespace pmio
