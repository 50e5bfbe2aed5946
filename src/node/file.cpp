#include "node/file.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "node/background.h"
#include "node/file_impl.h"

namespace pmio {

File::File() : impl_(std::make_unique<Impl>()) {}

File::~File() = default;

template <class Mutex>
static std::unique_lock<Mutex> lock_of(Mutex& mutex, bool waits) {
  return waits ? std::unique_lock(mutex) : std::unique_lock(mutex, std::try_to_lock);
}

void File::Impl::add_up(bool waits) {
  Counters& all = job->counters;
  if (const auto lock = lock_of(append_mutex, waits)) {
    const AppendTally tally = std::exchange(appends, {});
    count(all.append_calls, tally.calls);
    count(all.append_bytes, tally.bytes);
    count(all.append_records, tally.records);
    count(all.collective_writes, tally.collective);
    count(all.independent_writes, tally.calls - tally.collective);
    count(all.append_ns, tally.timer.total_ns());
    count(all.append_timed_calls, tally.timer.timed_calls());
  }
  if (const auto lock = lock_of(read_mutex, waits)) {
    const ReadTally tally = std::exchange(reads, {});
    count(all.read_calls, tally.calls);
    count(all.collective_reads, tally.collective);
    count(all.independent_reads, tally.calls - tally.collective);
    count(all.read_bytes, tally.bytes);
    count(all.read_log_bytes, tally.log_bytes);
    count(all.read_file_bytes, tally.file_bytes);
    count(all.read_ns, tally.timer.total_ns());
    count(all.read_timed_calls, tally.timer.timed_calls());
  }
  IoCounters& io = target->counters();
  std::atomic<uint64_t>* writes[] = {&all.target_writes_1k, &all.target_writes_1m, &all.target_writes_large};
  std::atomic<uint64_t>* target_reads[] = {&all.target_reads_1k, &all.target_reads_1m,
                                           &all.target_reads_large};
  for (int size_class = 0; size_class < 3; size_class++) {
    count(*writes[size_class], io.writes[size_class].exchange(0, std::memory_order_relaxed));
    count(*target_reads[size_class], io.reads[size_class].exchange(0, std::memory_order_relaxed));
  }
  count(all.target_write_bytes, io.written_bytes.exchange(0, std::memory_order_relaxed));
  count(all.target_read_bytes, io.read_bytes.exchange(0, std::memory_order_relaxed));
  count(all.target_write_ns, io.write_ns.exchange(0, std::memory_order_relaxed));
  count(all.target_read_ns, io.read_ns.exchange(0, std::memory_order_relaxed));
}

File::Impl::~Impl() {
  if (control == nullptr) return;
  add_up(false);  // by try_lock, which nobody is in the way of
  if (!has_left) {
    // Without append_mutex, which nobody else can want any more.
    if (owns_undrained()) {
      job->keep_log();
      for (const Owned& each : owned) job->pool->keep(each.segment);
    } else {
      while (!owned.empty()) detach(0);
    }
    leave();
  }
  drainer.reset();
  index.reset();
  job->spares.keep({std::move(control_region), std::move(ledger), std::move(mark)}, leaves_spare);
}

bool File::Impl::owns_undrained() const {
  if (control->closing.load(std::memory_order_acquire) != 0) return !owned.empty();
  return std::any_of(owned.begin(), owned.end(), [this](const Owned& each) {
    return cell->segments[each.cell].drained.load(std::memory_order_acquire) != each.writer.records();
  });
}

void File::Impl::leave() {
  has_left = true;
  // Else its log is still of interest.
  const bool is_over = counts_as_log && is_drained_here();
  job->leave_file(*this);
  if (is_over) job->options.logs_in_use->fetch_sub(1, std::memory_order_release);
}

Status File::drain() { return impl_->drain_log(false); }

Status File::persist() {
  std::lock_guard lock(impl_->append_mutex);
  for (auto& owned : impl_->owned) PMIO_TRY(owned.segment->region->sync());
  return {};
}

Status File::sync() {
  count(impl_->job->counters.sync_calls);
  const uint64_t start = monotonic_ns();
  PMIO_TRY(persist());
  PMIO_TRY(impl_->drain_everywhere(false));
  if (impl_->target->access() != TargetFile::Access::read_only) PMIO_TRY(sync_target());
  if (spans_nodes()) {
    impl_->others_know(impl_->state_to_know());
    // What is read from now on is read anew (see_what_others_did).
    impl_->control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  } else {
    see_what_others_did();
  }
  count(impl_->job->counters.sync_ns, monotonic_ns() - start);
  return {};
}

// Who is not of this job may have written the file, and says so by a sync of its own (MPI 4.1, 14.6.1). What
// is drained is in the file, for readers at the speed of the page cache.
void File::see_what_others_did() {
  {
    RobustLock lock(impl_->control->index_mutex);
    conceal_all(*impl_->control);
  }
  if (impl_->is_cut()) truncated_here();
}

// Whether the target ends before something that a local rank had drained to it, since the last time that
// somebody noticed.
bool File::Impl::is_cut() const {
  std::vector<uint64_t> ends(control->ranks);
  for (uint32_t rank = 0; rank < control->ranks; rank++) ends[rank] = noted_end(rank);
  const Result<uint64_t> size = target->size_bytes();
  if (!size.ok()) return false;
  for (uint32_t rank = 0; rank < control->ranks; rank++) {
    // Else it is still to come.
    if (ends[rank] > size.value() && index->undrained_end(rank, ends[rank]) < ends[rank]) return true;
  }
  return false;
}

Status File::sync_target() {
  Status synced = impl_->target->sync();
  if (!synced.ok()) impl_->control->unsynced.note_loss(synced);
  return synced;
}

bool File::ever_logged() const {
  if (spans_nodes()) return true;  // other nodes' ranks are not known here
  for (uint32_t rank = 0; rank < impl_->control->ranks; rank++) {
    if (impl_->control->cells[rank].cells.load(std::memory_order_acquire) != 0) return true;
  }
  return false;
}

bool File::has_more_users(int processes) const {
  return impl_->control->users.load(std::memory_order_relaxed) > static_cast<uint32_t>(processes);
}

bool File::has_few_calls(uint64_t calls, uint64_t bytes, bool collective) const {
  uint64_t had_calls = 0, had_bytes = 0;
  {
    const std::lock_guard lock(impl_->append_mutex);
    if (collective && impl_->appends.collective != impl_->appends.calls) return false;
    had_calls = impl_->appends.calls;
    had_bytes = impl_->appends.bytes;
  }
  const std::lock_guard lock(impl_->read_mutex);
  return had_calls + impl_->reads.calls <= calls && had_bytes + impl_->reads.bytes <= bytes;
}

void File::invalidate_cache() {
  if (!spans_nodes()) impl_->drainer->note_foreign_write();  // else the mark says so all the time
  impl_->control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  RobustLock lock(impl_->control->index_mutex);
  conceal_all(*impl_->control);
}

void File::forget_cache() {
  forget_here();
  // Where a node is gone, its cache is too.
  if (spans_nodes()) (void)impl_->neighbours->forget(impl_->number);
}

void File::forget_here() {
  invalidate_cache();
  impl_->control->known_size.store(UINT64_MAX, std::memory_order_release);
}

void File::set_known_size(uint64_t bytes) {
  impl_->control->known_size.store(bytes, std::memory_order_release);
  impl_->control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
}

Status File::make_room(uint64_t bytes, uint64_t known_end) {
  const auto made = impl_->target->allocate(bytes);
  if (!made.ok()) return made.status();
  if (!made.value()) {
    // A round, of any handle of the job, would write behind the end that is looked at.
    const RobustLock lock(impl_->control->drain_mutex);
    PMIO_TRY(impl_->target->grow(bytes, known_end));
  }
  return spans_nodes() ? sync_target() : Status();
}

void File::truncated() {
  truncated_here();
  if (spans_nodes()) (void)impl_->neighbours->truncated(impl_->number);
}

void File::truncated_here() {
  FileControl& control = *impl_->control;
  control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  if (spans_nodes())  // a round, which looks at this when it ends, may wait for this rank
    control.truncations.fetch_add(1, std::memory_order_acq_rel);
  else
    impl_->drainer->note_truncation();
}

Status File::discard() {
  PMIO_TRY(discard_here());
  return spans_nodes() ? impl_->neighbours->discard(impl_->number) : Status();
}

Status File::release(const std::optional<Settled>& settled) {
  Impl& impl = *impl_;
  {
    std::lock_guard lock(impl.job->files_mutex);
    PMIO_ASSERT(impl.handles > 0);
    if (--impl.handles > 0) return {};
    impl.releasing++;
  }
  const auto nothing_to_drain = [&impl] {
    if (impl.target->access() != TargetFile::Access::read_only) return false;
    std::lock_guard lock(impl.append_mutex);
    return !impl.owns_undrained();
  };
  const Status status = nothing_to_drain() ? Status() : impl.drain_log(false);
  impl.add_up(true);
  std::shared_ptr<File> self;  // may be the last one: goes when the locks are given back
  std::lock_guard lock(impl.append_mutex);
  std::lock_guard files_lock(impl.job->files_mutex);
  // Else another thread has opened it meanwhile, and may have logged more: its own release sees to that.
  const bool last = --impl.releasing == 0 && impl.handles == 0;
  if (!status.ok()) {
    impl.seal();
    impl.woken = false;
    impl.job->keep_log();
    self = impl.job->files[impl.key].lock();
    if (last && self != nullptr) impl.job->unfinished[impl.key] = std::move(self);
    return kept_in_log(status);
  }
  if (!last) return {};
  self = impl.job->files[impl.key].lock();
  // Nobody but the caller has it, and uses its target.
  if (settled && self.use_count() == 2 && impl.take(*settled)) {
    impl.job->rest(std::move(self));
    return {};
  }
  while (!impl.owned.empty()) impl.detach(0);
  // Now, for somebody may hold this object a moment longer, and an open that follows may mean another file of
  // the same inode number.
  impl.job->files.erase(impl.key);
  impl.leave();
  return {};
}

Status File::kept_in_log(const Status& status) const {
  if (impl_->job->lost_log->is_known())
    return Status(status.code(), status.message() + "; what is not in the file is lost with the log",
                  status.system_errno());
  return Status(status.code(),
                status.message() + "; what is not in the file yet stays in the log '" +
                    impl_->job->directory + "': make room or repair the file system, then run 'pmio recover'",
                status.system_errno());
}

void File::forgive_errors() {
  impl_->reported_errors = impl_->control->error_number.load(std::memory_order_acquire);
}

Status File::take_error() {
  const uint64_t failures = impl_->control->error_number.load(std::memory_order_acquire);
  if (impl_->reported_errors.load(std::memory_order_relaxed) == failures) return {};
  if (impl_->reported_errors.exchange(failures, std::memory_order_relaxed) == failures) return {};
  const int error = impl_->control->error.load(std::memory_order_relaxed);
  if (error == 0) return {};  // a later round succeeded
  return Status::from_errno(error, "cannot drain the log to '" + impl_->path + "'");
}

bool File::Impl::is_drained_here() const {
  if (neighbours != nullptr) return number == 0 || all_drained_here();
  return cell->drained_records.load(std::memory_order_acquire) ==
         cell->appended.load(std::memory_order_acquire);
}

uint64_t File::Impl::undrained_bytes() const {
  uint64_t bytes = 0;
  for (uint32_t rank = 0; rank < control->ranks; rank++) {
    const RankCell& of_rank = control->cells[rank];
    for (uint32_t c = 0; c < of_rank.cells.load(std::memory_order_acquire); c++) {
      const SegmentCell& segment = of_rank.segments[c];
      if (segment.salt.load(std::memory_order_acquire) == 0) continue;
      auto log = SegmentReader::open(job->map->map(rank, segment.slot.load(std::memory_order_relaxed)));
      if (!log.ok()) continue;
      const uint32_t end = segment.published.load(std::memory_order_acquire);
      for (uint32_t i = segment.drained.load(std::memory_order_acquire); i < end; i++)
        bytes += record_vector(log->record(i)).bytes();
    }
  }
  return bytes;
}

bool File::Impl::looks_after_it() const {
  for (uint32_t rank = 0; rank < job->options.rank; rank++) {
    const RankCell& other = control->cells[rank];
    if (other.attached.load(std::memory_order_relaxed) != 0 && !other.died()) return false;
  }
  return true;
}

// Whether some of it has been in the log for longer than that. What is appended while it is drained counts
// from then on. Where the rank that has to look after it does not, because it only reads, say, any other
// does.
bool File::Impl::Watch::is_old(uint64_t now_appended, uint64_t drained, uint64_t now, uint64_t age_ns) {
  if (drained >= mark) {
    mark = now_appended;
    mark_ns = now;
  }
  return age_ns != 0 && now - mark_ns > age_ns;
}

void File::background_drain(bool filling, const DrainTimes& times) {
  Impl& impl = *impl_;
  // Where this process only reads, those drain who write.
  if (!impl.target->opened_to_write()) return;
  uint64_t appended = 0;
  uint64_t drained = 0;
  for (uint32_t rank = 0; rank < impl.control->ranks; rank++) {
    const RankCell& cell = impl.control->cells[rank];
    appended += cell.appended.load(std::memory_order_acquire);
    drained += cell.drained_records.load(std::memory_order_acquire);
  }
  const uint64_t now = monotonic_ns();
  Impl::Watch& watch = impl.watch;
  if (appended != watch.appended) watch.changed_ns = now;
  watch.appended = appended;
  const bool old = watch.is_old(appended, drained, now, times.age_ns);
  if (appended == drained || now < watch.retry_ns) return;
  const bool idle = now - watch.changed_ns > times.idle_ns;
  const bool due =
      ((idle || old) && impl.looks_after_it()) || watch.is_old(appended, drained, now, 2 * times.age_ns);
  if (!filling && !due && impl.control->drain_wanted.load(std::memory_order_acquire) == 0) return;
  const Status status = spans_nodes() ? impl.drain_what_can_be() : impl.drainer->drain();
  // Of what other nodes' ranks have not come to yet nothing can be drained, however often it is asked for.
  constexpr uint64_t kPauseNs = 50'000'000;
  watch.mark = 0;  // look anew
  if (!status.ok())
    watch.retry_ns = now + times.retry_ns;
  else if (spans_nodes())
    watch.retry_ns = monotonic_ns() + kPauseNs;
}

TargetFile& File::target() { return *impl_->target; }
Counters& File::counters() { return impl_->job->counters; }
const FileIdentity& File::identity() const { return impl_->identity; }
const Layout& File::layout() const { return impl_->layout; }

}  // namespace pmio
