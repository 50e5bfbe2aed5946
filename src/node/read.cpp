// Reading through the logs: bytes that are in any local rank's log from there, the rest from the target.
//
// A read takes no lock that a writer needs. It notes the count of evictions and the floor, copies, and looks
// again: if a segment was given back meanwhile, what was copied may be another generation's, and the read is
// repeated.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/copy.h"
#include "base/prefetch.h"
#include "node/file_impl.h"

namespace pmio {

constexpr int kMostDrains = 100;  // of a read, of what others go on to log
constexpr int kMostReads = 1000;  // of bytes that are just being drained
constexpr int kFewReads = 10;

// The common case: one extent holds all of [a, b).
bool File::Impl::copy_single(uint64_t a, uint64_t b, std::byte* out) {
  if (entries.size() != 1) return false;
  const Entry& entry = entries.front();
  EntrySource::Located located;
  if (entry.vector || entry.offset > a || entry.end < b) return false;
  if (!FileEntrySource(control, job->map.get()).locate(entry, &located)) return false;
  copy_bytes(out, located.data + (a - entry.offset), b - a);
  // Who reads a file in order mostly finds it in the order in which it was logged.
  prefetch_to_read(after_next(located.data + (b - entry.offset), b - a), b - a);
  reads.log_bytes += b - a;
  return true;
}

// Of what is in a log that is lost, after a drain. Across nodes that takes a round, whose part on this node
// needs read_mutex.
Status File::Impl::look_up(uint64_t a, uint64_t b, size_t most, Epoch* epoch) {
  Status status = look(a, b, most, epoch);
  for (int tries = 0; !status.ok() && tries < kMostDrains; tries++) {
    bool is_lost = false;
    PMIO_TRY(drain_lost_log(&is_lost));
    if (!is_lost) break;
    status = look(a, b, most, epoch);
  }
  return status;
}

// After a failure.
Status File::Impl::drain_lost_log(bool* is_lost) {
  *is_lost = neighbours == nullptr && job->lost_log->look_patiently(*control);
  if (!*is_lost) return {};
  PMIO_TRY(drain_log(false));
  drainer->forget_runs();
  return {};
}

Status File::Impl::look(uint64_t a, uint64_t b, size_t most, Epoch* epoch) {
  // Until a round is counted as a whole, what was overwritten may seem to be the newest.
  for (;;) {
    epoch->ledger_updates = control->ledger_updates.load(std::memory_order_acquire);
    if (control->updates_counted.load(std::memory_order_acquire) == epoch->ledger_updates) break;
    drainer->count_last_round();
  }
  epoch->evictions = control->evictions.load(std::memory_order_acquire);
  epoch->floor = concealed(*control, a, b);
  epoch->begin = a;
  epoch->end = b;
  entries.clear();
  PMIO_TRY(index->scan_tail(a, b, &entries));
  PMIO_TRY(index->refresh());
  epoch->complete = index->find(a, b, epoch->floor, most, &entries);
  return {};
}

bool File::Impl::is_over(const Epoch& epoch) const {
  // Acquire: what was copied before comes before these loads.
  std::atomic_thread_fence(std::memory_order_acquire);
  return control->evictions.load(std::memory_order_relaxed) != epoch.evictions ||
         control->ledger_updates.load(std::memory_order_relaxed) != epoch.ledger_updates ||
         concealed(*control, epoch.begin, epoch.end) != epoch.floor;
}

Status File::Impl::try_read(uint64_t a, uint64_t b, std::byte* out, bool* stale) {
  Epoch epoch;
  PMIO_TRY(look_up(a, b, SIZE_MAX, &epoch));
  if (copy_single(a, b, out)) {
    *stale = is_over(epoch);
    return {};
  }
  covered.clear();
  FileEntrySource source(control, job->map.get());
  *stale = !painter.paint(entries, source, a, b, out, &covered);
  if (!*stale) {
    PMIO_TRY(read_gaps(a, b, out));
    for (const Interval& interval : covered) reads.log_bytes += interval.end - interval.begin;
  }
  *stale = *stale || is_over(epoch);
  return {};
}

void File::Impl::shorten_tail() {
  if (control->index_used.load(std::memory_order_relaxed) == 0)
    control->index_used.store(1, std::memory_order_relaxed);
  if (!index->merge_is_due()) return;
  Status status;
  {
    RobustLock lock(control->index_mutex);
    status = index->merge_locked(nullptr, UINT64_MAX);
    if (status.ok()) index->tidy_locked();
  }
  index_full = index_full || !status.ok();
}

// No room for an index: then there is no room for the log either, and its bytes are better off in the file.
// Across nodes that takes a round, whose part on this node may need read_mutex.
Status File::Impl::end_read(std::unique_lock<std::mutex>& lock) {
  const bool full = std::exchange(index_full, false);
  lock.unlock();
  return full ? drain_log(false) : Status();
}

Status File::Impl::read_range(uint64_t a, uint64_t b, std::byte* out) {
  shorten_tail();
  bool stale = true, is_lost = false;
  for (int attempt = 0; stale; attempt++) {
    if (attempt == kMostReads)
      return Status(Code::io, "cannot map the log of a local rank; see 'pmio doctor'", EIO);
    if (attempt % kFewReads == kFewReads - 1) PMIO_TRY(drain_lost_log(&is_lost));
    PMIO_TRY(try_read(a, b, out, &stale));
  }
  return {};
}

Status File::Impl::read_contiguous(uint64_t offset, std::byte* data, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t n = std::min(bytes, kWindowBytes);
    PMIO_TRY(read_range(offset, offset + n, data));
    offset += n;
    data += n;
    bytes -= n;
  }
  return {};
}

uint64_t File::Impl::noted_end(uint32_t rank) const {
  const RankCell& of_rank = control->cells[rank];
  const uint64_t truncations = of_rank.truncations.load(std::memory_order_acquire);
  if (truncations != control->truncations.load(std::memory_order_acquire)) return 0;
  return of_rank.logged_end.load(std::memory_order_acquire);
}

uint64_t File::Impl::noted_end() const {
  uint64_t end = 0;
  for (uint32_t rank = 0; rank < control->ranks; rank++) end = std::max(end, noted_end(rank));
  return end;
}

uint64_t File::Impl::logged_end() const {
  uint64_t end = 0;
  for (uint32_t rank = 0; rank < control->ranks; rank++) {
    const uint64_t noted = noted_end(rank);
    end = std::max(end, noted != 0 ? noted : index->undrained_end(rank));
  }
  return end;
}

Result<uint64_t> File::size_bytes_here() const {
  const uint64_t known = impl_->control->known_size.load(std::memory_order_acquire);
  const uint64_t logged = impl_->logged_end();  // before the target's, which has what is drained meanwhile
  if (spans_nodes() && known != UINT64_MAX) return std::max(logged, known);
  auto size = impl_->target->size_bytes(spans_nodes());
  if (!size.ok()) return size.status();
  return std::max(logged, *size);
}

Result<uint64_t> File::size_bytes() {
  auto here = size_bytes_here();
  if (!here.ok() || !spans_nodes()) return here;
  uint64_t elsewhere = 0;
  PMIO_TRY(impl_->meet_nodes({}, false, &elsewhere));
  return std::max(*here, elsewhere);
}

// A read's count and time: made under read_mutex. begin_ns: when it began, if it has been slow since, or 0.
class ReadCount {
 public:
  ReadCount(ReadTally& reads, bool collective, uint64_t bytes, uint64_t begin_ns)
      : reads_(reads), bytes_(bytes), begin_ns_(begin_ns) {
    if (begin_ns != 0)
      reads.timer.slow();
    else if (reads.timer.due(bytes))
      begin_ns_ = monotonic_ns();
    reads.calls++;
    reads.collective += collective;
  }
  void done(uint64_t got) const {
    reads_.bytes += got;
    reads_.timer.done(bytes_, begin_ns_);
  }

 private:
  ReadTally& reads_;
  const uint64_t bytes_;
  uint64_t begin_ns_;
};

Status File::Impl::read_target(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got,
                               bool collective) {
  const uint64_t begin_ns = monotonic_ns();
  std::lock_guard lock(read_mutex);
  const ReadCount read_count(reads, collective, bytes, begin_ns);
  PMIO_TRY(target->read(offset, data, bytes, got));
  reads.file_bytes += *got;
  read_count.done(*got);
  return {};
}

Status File::read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective) {
  Impl& impl = *impl_;
  *got = 0;
  if (!ever_logged()) return impl.read_target(offset, data, bytes, got, collective);
  uint64_t n = bytes;
  uint64_t begin_ns = 0;
  if (spans_nodes()) {
    begin_ns = monotonic_ns();
    uint64_t end = 0;
    const Vector range{static_cast<int64_t>(offset), bytes, 0, 1};
    PMIO_TRY(impl.meet_nodes({&range, 1}, false, &end));
    if (offset + bytes > end) {
      auto here = size_bytes_here();
      if (!here.ok()) return here.status();
      end = std::max(end, *here);
    }
    n = offset >= end ? 0 : std::min(bytes, end - offset);
  } else if (offset + bytes > impl.noted_end()) {  // else the end of the file need not be asked for
    begin_ns = monotonic_ns();
    auto size = size_bytes();
    if (!size.ok()) return size.status();
    n = offset >= *size ? 0 : std::min(bytes, *size - offset);
  }
  std::unique_lock lock(impl.read_mutex);
  // Comes from memory while the log is searched.
  prefetch_to_write(impl.destinations.next(data, bytes), bytes);
  const ReadCount read_count(impl.reads, collective, bytes, begin_ns);
  PMIO_TRY(impl.read_contiguous(offset, data, n));
  *got = n;
  read_count.done(n);
  return impl.end_read(lock);
}

Status File::read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                  uint64_t* got, bool collective) {
  Impl& impl = *impl_;
  *got = 0;
  uint64_t size = 0;
  const uint64_t begin_ns = monotonic_ns();
  if (spans_nodes()) {
    PMIO_TRY(impl.meet_nodes(file, bytes, &size));
    auto here = size_bytes_here();
    if (!here.ok()) return here.status();
    size = std::max(size, *here);
  } else {
    auto known = size_bytes();
    if (!known.ok()) return known.status();
    size = *known;
  }
  std::unique_lock lock(impl.read_mutex);
  const ReadCount read_count(impl.reads, collective, bytes, begin_ns);
  PMIO_TRY(impl.read_views(file, memory, buffer, bytes, size, got));
  read_count.done(*got);
  return impl.end_read(lock);
}

}  // namespace pmio
