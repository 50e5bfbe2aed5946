#include "node/file.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "node/alone.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

FileParts::FileParts(Job::Impl& job, const std::string& key, const FileIdentity& identity,
                     const ReachMaker& reach_maker)
    : logged_end(shared, static_cast<bool>(reach_maker)),
      reach(reach_maker ? reach_maker(*this) : std::make_unique<Alone>(*this)),
      direct_writer(shared, *reach, logged_end),
      reader(shared, *reach, logged_end),
      large_pieces(shared, reader, direct_writer),
      appender(shared, *reach, logged_end, direct_writer, large_pieces) {
  shared.job = &job;
  shared.key = key;
  shared.identity = identity;
}

FileParts::~FileParts() {
  if (shared.control == nullptr) return;
  add_up(false);  // by try_lock, which nobody is in the way of
  if (!has_left_) {
    // Without the append lock, which nobody else can want any more.
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
    std::unique_lock lock(appender.mutex, std::defer_lock);
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

File::File() = default;
File::~File() = default;

Result<std::shared_ptr<File>> File::attach(Job::Impl& job, const std::string& key,
                                           const FileIdentity& identity, std::unique_ptr<TargetFile> target,
                                           const Job::OpenOptions& how) {
  std::shared_ptr<File> file(new File);
  file->parts_ = std::make_unique<FileParts>(job, key, identity, how.reach);
  FileParts& parts = *file->parts_;
  PMIO_TRY(job.shared_files.attach(parts.shared, std::move(target), how.layout, parts.reach->spans_nodes()));
  PMIO_TRY(parts.reach->attached());
  return file;
}

Status File::append(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call) {
  return parts_->appender.append(offset, data, bytes, call);
}

Status File::append(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                    CallNumber call) {
  return parts_->appender.append(file, memory, buffer, bytes, call);
}

void File::note_empty_call(CallNumber call) { parts_->appender.note_empty_call(call); }

uint32_t File::add_open(uint64_t number, uint32_t ranks, uint32_t rank) {
  return parts_->appender.add_open(number, ranks, rank);
}

void File::remove_open(uint32_t open) { parts_->appender.remove_open(open); }

Status File::persist() {
  std::lock_guard lock(parts_->appender.mutex);
  return parts_->appender.sync_segments();
}

Status File::read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                  uint64_t* got, bool collective) {
  return parts_->reader.read(file, memory, buffer, bytes, got, collective);
}

Status File::read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective) {
  return parts_->reader.read(offset, data, bytes, got, collective, ever_logged());
}

Result<uint64_t> File::size_bytes() { return parts_->reader.size_bytes(); }
Result<uint64_t> File::size_bytes_here() const { return parts_->reader.size_bytes_here(); }

Status File::drain(DrainScope scope) { return parts_->reach->drain(scope); }

Status File::flush() { return parts_->large_pieces.any_written() ? target().flush() : Status(); }

Status File::sync() {
  Counters& counters = this->counters();
  count(counters.sync_calls);
  const uint64_t start = monotonic_ns();
  PMIO_TRY(persist());
  PMIO_TRY(drain(DrainScope::everywhere));
  if (target().access() != TargetFile::Access::read_only) PMIO_TRY(sync_target());
  parts_->reach->synced();
  count(counters.sync_ns, monotonic_ns() - start);
  return {};
}

Status File::sync_target() {
  Status synced = target().sync();
  if (!synced.ok()) parts_->shared.control->writes_to_sync.note_loss(synced);
  return synced;
}

bool File::spans_nodes() const { return parts_->reach->spans_nodes(); }

bool File::ever_logged() const {
  if (spans_nodes()) return true;  // other nodes' ranks are not known here
  const FileControl& control = *parts_->shared.control;
  for (uint32_t rank = 0; rank < control.ranks; rank++) {
    if (control.cells[rank].cells.load(std::memory_order_acquire) != 0) return true;
  }
  return false;
}

bool File::has_other_handles() const { return parts_->shared.job->files.has_other_handles(*parts_); }

bool File::has_more_users(int processes) const {
  return parts_->shared.control->users.load(std::memory_order_relaxed) > static_cast<uint32_t>(processes);
}

bool File::has_few_calls(uint64_t calls, uint64_t bytes, bool collective) const {
  const Appender::Calls written = parts_->appender.calls();
  if (collective && written.collective != written.calls) return false;
  const LogReader::Calls read = parts_->reader.calls();
  return written.calls + read.calls <= calls && written.bytes + read.bytes <= bytes;
}

void File::invalidate_cache() {
  FileControl& control = *parts_->shared.control;
  parts_->reach->note_foreign_write();
  control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  RobustLock lock(control.index_mutex);
  stop_serving_all(control);
}

void File::forget_here() {
  invalidate_cache();
  parts_->shared.control->known_size.store(UINT64_MAX, std::memory_order_release);
}

void File::forget_cache() {
  forget_here();
  parts_->reach->forget_elsewhere();
}

void File::set_known_size(uint64_t bytes) {
  FileControl& control = *parts_->shared.control;
  control.known_size.store(bytes, std::memory_order_release);
  control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
}

Status File::make_room(uint64_t bytes, uint64_t known_end) {
  const auto made = target().allocate(bytes);
  if (!made.ok()) return made.status();
  if (!made.value()) {
    // A round, of any handle of the job, would write behind the end that is looked at.
    const RobustLock lock(parts_->shared.control->drain_mutex);
    PMIO_TRY(target().grow(bytes, known_end));
  }
  return spans_nodes() ? sync_target() : Status();
}

void File::truncated_here() {
  parts_->shared.control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  parts_->reach->note_truncation();
}

void File::truncated() {
  truncated_here();
  parts_->reach->truncated_elsewhere();
}

Status File::discard() { return parts_->reach->discard(); }

Status File::release(const std::optional<RestingState>& resting) {
  FileTable& table = parts_->shared.job->files;
  if (!table.begin_release(*this)) return {};
  const auto nothing_to_drain = [this] {
    if (target().access() != TargetFile::Access::read_only) return false;
    std::lock_guard lock(parts_->appender.mutex);
    return !parts_->appender.owns_undrained();
  };
  const Status status = nothing_to_drain() ? Status() : drain();
  parts_->add_up(true);
  std::shared_ptr<File> self;  // goes when the lock is given back
  std::lock_guard lock(parts_->appender.mutex);
  self = table.end_release(*this, status, resting);
  return status.ok() ? Status() : kept_in_log(status);
}

bool File::begin_lag() {
  Job::Impl& job = *parts_->shared.job;
  const bool has_failed = parts_->shared.control->error.load(std::memory_order_acquire) != 0;
  if (spans_nodes() || has_failed || job.lost_log.is_known() || job.member->is_past_log()) return false;
  return persist().ok() && job.files.begin_lag(*this);
}

void File::release_later() {
  Job::Impl& job = *parts_->shared.job;
  if (!job.files.begin_release(*this)) return;
  parts_->add_up(true);
  std::shared_ptr<File> self;  // goes when the lock is given back
  const std::lock_guard lock(parts_->appender.mutex);
  self = job.files.end_release_later(*this);
}

bool File::lags() const { return pmio::lags(*parts_->shared.control); }

Status File::complete() {
  PMIO_TRY(drain(DrainScope::everywhere));
  // Since the close others may have written it.
  parts_->reach->synced();
  return {};
}

bool File::is_closed() const {
  const SharedFile& file = parts_->shared;
  if (!file.job->files.is_closed(*parts_)) return false;
  // Of handles that never logged nobody knows which file they have open.
  const std::atomic<uint64_t>* handed_on = file.job->member->options().files_handed_on;
  if (handed_on == nullptr || handed_on->load(std::memory_order_acquire) != 0) return false;
  for (uint32_t rank = 0; rank < file.control->ranks; rank++) {
    const RankCell& cell = file.control->cells[rank];
    if (&cell != file.cell && cell.attached.load(std::memory_order_acquire) == kAttached) return false;
  }
  return true;
}

bool File::is_gone() const {
  struct stat facts {};
  return fstat(parts_->shared.target->fd(), &facts) == 0 && facts.st_nlink == 0 && is_closed();
}

Status File::lags_on(const Status& status) const {
  const Job::Impl& job = *parts_->shared.job;
  if (job.lost_log.is_known()) return kept_in_log(status);
  return {status.code(),
          status.message() +
              ", after its close (pmio_close=background); what is not in the file yet is in the "
              "log '" +
              job.member->directory() + "', and is tried again until the job ends",
          status.system_errno()};
}

Status File::kept_in_log(const Status& status) const {
  const Job::Impl& job = *parts_->shared.job;
  if (job.lost_log.is_known())
    return Status(status.code(), status.message() + "; what is not in the file is lost with the log",
                  status.system_errno());
  return Status(status.code(),
                status.message() + "; what is not in the file yet stays in the log '" +
                    job.member->directory() +
                    "': make room or repair the file system, then run 'pmio recover'",
                status.system_errno());
}

void File::forgive_errors() {
  SharedFile& file = parts_->shared;
  file.reported_errors = file.control->error_number.load(std::memory_order_acquire);
}

Status File::take_error() {
  SharedFile& file = parts_->shared;
  const uint64_t failures = file.control->error_number.load(std::memory_order_acquire);
  if (file.reported_errors.load(std::memory_order_relaxed) == failures) return {};
  if (file.reported_errors.exchange(failures, std::memory_order_relaxed) == failures) return {};
  const int error = file.control->error.load(std::memory_order_relaxed);
  if (error == 0) return {};  // a later round succeeded
  return Status::from_errno(error, "cannot drain the log to '" + file.path + "'");
}

void File::fail(int error) {
  FileControl& control = *parts_->shared.control;
  control.error.store(error, std::memory_order_relaxed);
  control.error_number.fetch_add(1, std::memory_order_release);
}

// Whether some of it has been in the log for longer than that. What is appended while it is drained counts
// from then on. If the rank that has to look after it does not, because it only reads, say, any other does.
bool AgeWatch::is_old(uint64_t now_appended, uint64_t drained, uint64_t now, uint64_t age_ns) {
  if (drained >= mark) {
    mark = now_appended;
    mark_ns = now;
  }
  return age_ns != 0 && now - mark_ns > age_ns;
}

void File::background_drain(bool filling, const DrainTimes& times) {
  SharedFile& file = parts_->shared;
  // If this process only reads, those drain who write.
  if (!file.target->opened_to_write()) return;
  uint64_t appended = 0;
  uint64_t drained = 0;
  for (uint32_t rank = 0; rank < file.control->ranks; rank++) {
    const RankCell& cell = file.control->cells[rank];
    appended += cell.appended.load(std::memory_order_acquire);
    drained += cell.drained_records.load(std::memory_order_acquire);
  }
  const uint64_t now = monotonic_ns();
  AgeWatch& watch = parts_->watch;
  if (appended != watch.appended) watch.changed_ns = now;
  watch.appended = appended;
  const bool old = watch.is_old(appended, drained, now, times.age_ns);
  if (appended == drained || now < watch.retry_ns) return;
  // One that lags has a thread of its own, which must not disturb the program.
  const bool idle =
      file.cell->attached.load(std::memory_order_relaxed) != kLags && now - watch.changed_ns > times.idle_ns;
  const bool due =
      ((idle || old) && file.looks_after_it()) || watch.is_old(appended, drained, now, 2 * times.age_ns);
  if (!filling && !due && file.control->drain_wanted.load(std::memory_order_acquire) == 0) return;
  const Status status = drain(DrainScope::possible);
  // Records of calls that other nodes' ranks have not reached cannot be drained, however often it is asked.
  constexpr uint64_t kPauseNs = 50'000'000;
  watch.mark = 0;  // look anew
  if (!status.ok())
    watch.retry_ns = now + times.retry_ns;
  else if (spans_nodes())
    watch.retry_ns = monotonic_ns() + kPauseNs;
}

TargetFile& File::target() { return *parts_->shared.target; }
Counters& File::counters() { return parts_->shared.job->member->counters(); }
const FileIdentity& File::identity() const { return parts_->shared.identity; }
const Layout& File::layout() const { return parts_->shared.layout; }
Reach& File::reach() { return *parts_->reach; }
FileParts& File::parts() const { return *parts_; }

}  // namespace pmio
