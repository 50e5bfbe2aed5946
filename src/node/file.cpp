#include "node/file.h"

#include <utility>

#include "base/clock.h"
#include "node/alone.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

FileParts::FileParts(Job::Impl& job, const std::string& key, const FileIdentity& identity,
                     const ReachMaker& reach_maker)
    : logged_end(shared, reach_maker.spans_nodes()),
      reach(reach_maker.spans_nodes() ? reach_maker.make(*this) : std::make_unique<Alone>(*this)),
      direct_writer(shared, *reach, logged_end),
      reader(shared, *reach, logged_end),
      large_pieces(shared, reader, direct_writer, idle_sightings),
      appender(shared, *reach, logged_end, direct_writer, large_pieces),
      contest(shared, *reach, large_pieces, appender,
              job.member->spans_nodes() && reach_maker.span != kAllRanks),
      background_drain(shared, *reach),
      changes(*this) {
  shared.job = &job;
  shared.key = key;
  shared.identity = identity;
}

FileParts::~FileParts() {
  if (shared.control == nullptr) return;
  add_up(false);  // by try_lock, which nobody is in the way of
  if (!has_left_) {
    appender.counts_as_held();
    if (appender.owns_undrained()) {
      shared.job->member->keep_log();
      appender.keep_all();
    } else {
      appender.give_all_back();
    }
    leave();
  }
  shared.job->shared_files.keep(shared);
}

void FileParts::set_lags(bool now) {
  if (lags == now) return;
  lags = now;
  // Release: who sees it sees what was published before.
  shared.cell->attached.store(lags ? kLags : kAttached, std::memory_order_release);
  std::atomic<uint64_t>* count = shared.job->member->options().files_lagging;
  if (count == nullptr) return;
  lags ? count->fetch_add(1, std::memory_order_acq_rel) : count->fetch_sub(1, std::memory_order_acq_rel);
}

void FileParts::leave() {
  has_left_ = true;
  set_lags(false);
  // Else its log is still of interest.
  const bool is_over = appender.counts_as_log() && reach->is_drained();
  shared.job->shared_files.leave(shared);
  if (is_over) shared.job->member->options().logs_in_use->fetch_sub(1, std::memory_order_release);
}

void FileParts::let_go() {
  {
    // By try_lock, for the file table is locked. Who has it is just freeing a segment, and wants no further
    // lock.
    UniqueLock lock(appender.mutex, std::defer_lock);
    while (!lock.try_lock()) std::this_thread::yield();
    appender.give_all_back();
  }
  leave();
}

void FileParts::add_up(bool waits) {
  appender.add_up(waits);
  reader.add_up(waits);
  shared.add_up_target();
}

File::File() : closing_(*this) {}
File::~File() = default;

Result<std::shared_ptr<File>> File::attach(Job::Impl& job, const std::string& key,
                                           const FileIdentity& identity, std::unique_ptr<TargetFile> target,
                                           const Job::OpenOptions& how) {
  std::shared_ptr<File> file(new File);
  file->parts_ = std::make_unique<FileParts>(job, key, identity, how.reach);
  FileParts& parts = *file->parts_;
  PMIO_TRY(job.shared_files.attach(parts.shared, std::move(target), how.layout, parts.reach->span()));
  PMIO_TRY(parts.reach->attached());
  return file;
}

Status File::append(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call) {
  Contest& contest = parts_->contest;
  if (!contest.possible()) [[likely]]
    return parts_->appender.append(offset, data, bytes, call);
  if (contest.ends_log()) {
    const Pattern whole = Pattern::bytes(bytes);
    PatternCursor to(whole, static_cast<int64_t>(offset), 0), from(whole, 0, 0);
    return contest.write(to, from, data, bytes, call);
  }
  contest.before_append();
  PMIO_TRY(parts_->appender.append(offset, data, bytes, call));
  return contest.after_append();
}

Status File::append(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                    CallNumber call) {
  Contest& contest = parts_->contest;
  if (!contest.possible()) [[likely]]
    return parts_->appender.append(file, memory, buffer, bytes, call);
  if (contest.ends_log()) return contest.write(file, memory, buffer, bytes, call);
  contest.before_append();
  PMIO_TRY(parts_->appender.append(file, memory, buffer, bytes, call));
  return contest.after_append();
}

Status File::persist() {
  const LockGuard lock(parts_->appender.mutex);
  return parts_->appender.sync_segments();
}

Status File::read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                  uint64_t* got, bool collective) {
  return parts_->reader.read(file, memory, buffer, bytes, got, collective);
}

Status File::read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective) {
  return parts_->reader.read(offset, data, bytes, got, collective, usage().ever_logged());
}

Result<uint64_t> File::size_bytes() { return parts_->reader.size_bytes(); }
Result<uint64_t> File::size_bytes_here() const { return parts_->reader.size_bytes_here(); }

Status File::drain(DrainScope scope) { return parts_->reach->drain(scope); }

Status File::flush() { return parts_->large_pieces.any_written() ? target().flush() : Status(); }

Status File::sync() {
  Counters& counters = parts_->shared.job->member->counters();
  count(counters.sync_calls);
  const uint64_t start = monotonic_ns();
  parts_->large_pieces.pauses().spoil();
  PMIO_TRY(persist());
  PMIO_TRY(drain(DrainScope::everywhere));
  if (target().access() != TargetFile::Access::read_only) PMIO_TRY(changes().sync());
  parts_->reach->synced();
  count(counters.sync_ns, monotonic_ns() - start);
  return {};
}

Status File::contest() {
  parts_->contest.declare();
  Status status = sync();
  parts_->reach->note_truncation();
  return status;
}

void File::set_direct_from(const DirectFrom& from) {
  if (!usage().has_other_handles()) parts_->large_pieces.set(from);
}

TargetFile& File::target() { return *parts_->shared.target; }
const FileIdentity& File::identity() const { return parts_->shared.identity; }
FileOpens File::opens() { return FileOpens(parts_->appender); }
FileUsage File::usage() const { return FileUsage(*parts_); }
DrainErrors File::errors() { return DrainErrors(parts_->shared); }
TargetChanges& File::changes() { return parts_->changes; }
Reach& File::reach() { return *parts_->reach; }
FileParts& File::parts() const { return *parts_; }

}  // namespace pmio
