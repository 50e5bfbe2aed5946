// Reading contiguous bytes through the logs, and through a view as a whole.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/copy.h"
#include "base/mutex.h"
#include "base/prefetch.h"
#include "drain/blocks.h"
#include "node/job_impl.h"
#include "node/log_reader.h"

namespace pmio {

constexpr int kMostDrains = 100;  // of a read, of what others go on to log
constexpr int kMostReads = 1000;  // of bytes that are just being drained
constexpr int kFewReads = 10;
constexpr size_t kMostCompared = 1024;  // entries of a run, to a range that may be undrained

// The common case: one extent holds all of [a, b).
bool LogReader::copy_single(uint64_t a, uint64_t b, std::byte* out) {
  if (entries_.size() != 1) return false;
  const Entry& entry = entries_.front();
  EntrySource::Located located;
  if (entry.vector || entry.offset > a || entry.end < b) return false;
  if (!FileEntrySource(file_.control, &file_.job->map).locate(entry, &located)) return false;
  copy_bytes(out, located.data + (a - entry.offset), b - a);
  // Who reads a file in order mostly finds it in the order in which it was logged.
  prefetch_to_read(after_next(located.data + (b - entry.offset), b - a), b - a);
  return true;
}

// Of what is in a log that is lost, after a drain. Across nodes that takes a round, whose part on this node
// needs mutex().
Status LogReader::look_up(uint64_t a, uint64_t b, size_t most, Epoch* epoch) {
  Status status = look(a, b, most, epoch);
  for (int tries = 0; !status.ok() && tries < kMostDrains; tries++) {
    const Result<bool> is_lost = drain_lost_log();
    if (!is_lost.ok()) return is_lost.status();
    if (!is_lost.value()) break;
    status = look(a, b, most, epoch);
  }
  return status;
}

// After a failure: whether the log is lost. Then all of it is drained on return.
Result<bool> LogReader::drain_lost_log() {
  if (reach_.spans_nodes() || !file_.job->lost_log.look_patiently(*file_.control)) return false;
  PMIO_TRY(reach_.drain(DrainScope::published));
  file_.drainer->forget_runs();
  return true;
}

Status LogReader::look(uint64_t a, uint64_t b, size_t most, Epoch* epoch) {
  // Until a round is counted as a whole, what was overwritten may seem to be the newest.
  for (;;) {
    epoch->ledger_updates = file_.control->ledger_updates.load(std::memory_order_acquire);
    if (file_.control->updates_counted.load(std::memory_order_acquire) == epoch->ledger_updates) break;
    file_.drainer->count_last_round();
  }
  epoch->evictions = file_.control->evictions.load(std::memory_order_acquire);
  epoch->floor = unserved_stamp(*file_.control, a, b);
  epoch->begin = a;
  epoch->end = b;
  entries_.clear();
  PMIO_TRY(file_.index->scan_unmerged(a, b, &entries_));
  PMIO_TRY(file_.index->refresh());
  epoch->complete = file_.index->find(a, b, epoch->floor, most, &entries_);
  return {};
}

bool LogReader::is_over(const Epoch& epoch) const {
  // Acquire: what was copied before comes before these loads.
  std::atomic_thread_fence(std::memory_order_acquire);
  return file_.control->evictions.load(std::memory_order_relaxed) != epoch.evictions ||
         file_.control->ledger_updates.load(std::memory_order_relaxed) != epoch.ledger_updates ||
         unserved_stamp(*file_.control, epoch.begin, epoch.end) != epoch.floor;
}

Status LogReader::try_read(uint64_t a, uint64_t b, std::byte* out, bool* stale) {
  Epoch epoch;
  PMIO_TRY(look_up(a, b, SIZE_MAX, &epoch));
  if (copy_single(a, b, out)) {
    covered_.assign(1, {a, b});
    *stale = is_over(epoch);
    return {};
  }
  covered_.clear();
  FileEntrySource source(file_.control, &file_.job->map);
  *stale = !painter_.paint(entries_, source, a, b, out, &covered_);
  if (!*stale) PMIO_TRY(read_gaps(a, b, out));
  *stale = *stale || is_over(epoch);
  return {};
}

Status LogReader::holds_undrained(const Vector& range, bool* holds) {
  const LockGuard lock(mutex_);
  merge_if_due();
  *holds = true;
  const auto a = static_cast<uint64_t>(range.offset), b = static_cast<uint64_t>(range.end());
  const uint64_t evictions = file_.control->evictions.load(std::memory_order_acquire);
  entries_.clear();
  PMIO_TRY(file_.index->scan_unmerged(a, b, &entries_));
  PMIO_TRY(file_.index->refresh());
  if (!file_.index->find(a, b, 0, kMostCompared, &entries_, FileIndex::Which::undrained)) return {};
  FileEntrySource source(file_.control, &file_.job->map);
  for (const Entry& entry : entries_) {
    EntrySource::Located located;
    if (!source.locate(entry, &located) || may_share_a_byte(located.range, range)) return {};
  }
  *holds = file_.control->evictions.load(std::memory_order_acquire) != evictions;
  return {};
}

void LogReader::merge_if_due() {
  if (file_.control->index_used.load(std::memory_order_relaxed) == 0)
    file_.control->index_used.store(1, std::memory_order_relaxed);
  if (!file_.index->merge_is_due()) return;
  Status status;
  {
    RobustLock lock(file_.control->index_mutex);
    status = file_.index->merge_locked(nullptr, UINT64_MAX);
    if (status.ok()) file_.index->tidy_locked();
  }
  index_full_ = index_full_ || !status.ok();
}

// No room for an index: then there is no room for the log either, and its bytes are better off in the file.
// Across nodes that takes a round, whose part on this node may need mutex().
Status LogReader::end_read(bool index_full) {
  return index_full ? reach_.drain(DrainScope::published) : Status();
}

Status LogReader::read_range(uint64_t a, uint64_t b, std::byte* out) {
  merge_if_due();
  bool stale = true;
  for (int attempt = 0; stale; attempt++) {
    if (attempt == kMostReads)
      return Status(Code::io, "cannot map the log of a local rank; see 'pmio doctor'", EIO);
    if (attempt % kFewReads == kFewReads - 1) PMIO_TRY(drain_lost_log().status());
    PMIO_TRY(try_read(a, b, out, &stale));
  }
  if (!wanted_in_part_)
    for (const Interval& interval : covered_) tally_.log_bytes += interval.bytes();
  return {};
}

Status LogReader::read_contiguous(uint64_t offset, std::byte* data, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t n = std::min(bytes, kWindowBytes);
    PMIO_TRY(read_range(offset, offset + n, data));
    offset += n;
    data += n;
    bytes -= n;
  }
  return {};
}

// The logs first: what is drained meanwhile is in the target by then.
Result<uint64_t> LogReader::size_bytes_here() const {
  const uint64_t logged = logged_end_.bytes();
  auto size = reach_.target_bytes();
  if (!size.ok()) return size.status();
  return std::max(logged, *size);
}

Result<uint64_t> LogReader::size_bytes() {
  auto elsewhere = reach_.bytes_elsewhere();
  if (!elsewhere.ok()) return elsewhere;
  auto here = size_bytes_here();
  if (!here.ok()) return here;
  return std::max(*here, *elsewhere);
}

// A read's count and time: made under mutex_. begin_ns: when it began, if it has been slow since, or 0.
class LogReader::ReadCount {
 public:
  ReadCount(Tally& tally, bool collective, uint64_t bytes, uint64_t begin_ns)
      : tally_(tally), bytes_(bytes), begin_ns_(begin_ns) {
    if (begin_ns != 0)
      tally.timer.slow();
    else if (tally.timer.due(bytes))
      begin_ns_ = monotonic_ns();
    tally.calls++;
    tally.collective += collective;
  }
  void done(uint64_t got) const {
    tally_.bytes += got;
    tally_.timer.done(bytes_, begin_ns_);
  }

 private:
  Tally& tally_;
  const uint64_t bytes_;
  uint64_t begin_ns_;
};

Status LogReader::read_file(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got,
                            bool collective) {
  const uint64_t begin_ns = monotonic_ns();
  const LockGuard lock(mutex_);
  const ReadCount read_count(tally_, collective, bytes, begin_ns);
  PMIO_TRY(file_.target->read(offset, data, bytes, got));
  tally_.file_bytes += *got;
  read_count.done(*got);
  return {};
}

Status LogReader::read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective,
                       bool ever_logged) {
  *got = 0;
  if (!ever_logged) return read_file(offset, data, bytes, got, collective);
  uint64_t begin_ns = reach_.spans_nodes() ? monotonic_ns() : 0;
  const Vector range{static_cast<int64_t>(offset), bytes, 0, 1};
  uint64_t end = 0;
  PMIO_TRY(reach_.before_read({&range, 1}, &end));
  if (offset + bytes > end) {  // else the end of the file need not be asked for
    if (begin_ns == 0) begin_ns = monotonic_ns();
    auto here = size_bytes_here();
    if (!here.ok()) return here.status();
    end = std::max(end, *here);
  }
  const uint64_t n = offset >= end ? 0 : std::min(bytes, end - offset);
  UniqueLock lock(mutex_);
  // Comes from memory while the log is searched.
  prefetch_to_write(destinations_.next(data, bytes), bytes);
  const ReadCount read_count(tally_, collective, bytes, begin_ns);
  PMIO_TRY(read_contiguous(offset, data, n));
  *got = n;
  read_count.done(n);
  const bool index_full = std::exchange(index_full_, false);
  lock.unlock();
  return end_read(index_full);
}

Status LogReader::read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                       uint64_t* got, bool collective) {
  *got = 0;
  const uint64_t begin_ns = monotonic_ns();
  uint64_t end = 0;
  PMIO_TRY(reach_.before_read(file, bytes, &end));
  auto here = size_bytes_here();
  if (!here.ok()) return here.status();
  UniqueLock lock(mutex_);
  const ReadCount read_count(tally_, collective, bytes, begin_ns);
  PMIO_TRY(read_views(file, memory, buffer, bytes, std::max(end, *here), got));
  read_count.done(*got);
  const bool index_full = std::exchange(index_full_, false);
  lock.unlock();
  return end_read(index_full);
}

void LogReader::add_up(bool waits) {
  if (!lock_or_try(mutex_, waits)) return;
  const Tally tally = std::exchange(tally_, {});
  mutex_.unlock();
  Counters& all = file_.job->member->counters();
  count(all.read_calls, tally.calls);
  count(all.collective_reads, tally.collective);
  count(all.independent_reads, tally.calls - tally.collective);
  count(all.read_bytes, tally.bytes);
  count(all.read_log_bytes, tally.log_bytes);
  count(all.read_file_bytes, tally.file_bytes);
  count(all.read_ns, tally.timer.total_ns());
  count(all.read_timed_calls, tally.timer.timed_calls());
  if (!FileStatistics::on()) return;
  FileNumbers done;
  done.collective_reads = tally.collective;
  done.independent_reads = tally.calls - tally.collective;
  done.read_bytes = tally.bytes;
  done.read_ns = tally.timer.total_ns();
  FileStatistics::of_process().add(file_.path, done);
}

LogReader::Calls LogReader::calls() {
  const LockGuard lock(mutex_);
  return {tally_.calls, tally_.bytes};
}

// Without the lock: nobody reads.
void LogReader::rest() PMIO_NO_THREAD_SAFETY_ANALYSIS {
  window_.release();
  around_gaps_.release();
}

}  // namespace pmio
