#include "node/alone.h"

#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

// Before the drain of a write by the MPI library: it waits for a round that has begun under another rule.
Status Alone::drain(DrainScope scope) {
  if (scope == DrainScope::for_library_write)
    file_.shared.control->written_aside.store(1, std::memory_order_seq_cst);
  return file_.shared.drainer->drain();
}

bool Alone::is_drained() const { return file_.shared.own_is_drained(); }

Status Alone::before_read(std::span<const Vector> /*ranges*/, uint64_t* end) {
  *end = file_.logged_end.noted();
  return {};
}

Status Alone::before_read(PatternCursor /*file*/, uint64_t /*bytes*/, uint64_t* end) {
  return before_read({}, end);
}

Status Alone::read_target(uint64_t offset, std::byte* to, uint64_t bytes, bool /*sparse*/, uint64_t* got) {
  return file_.shared.target->read(offset, to, bytes, got);
}

// All that is in the log is in the file before. No round reads what lies between its own pieces and writes it
// again, not even one that had begun under another rule.
Status Alone::begin_direct_write() {
  const WaitsInAppend waits(file_.appender.who_waits());
  if (!writes_past_log_.exchange(true, std::memory_order_relaxed)) {
    file_.shared.control->written_aside.store(1, std::memory_order_seq_cst);
    file_.shared.drainer->note_foreign_write();
  }
  return drain(DrainScope::published);
}

Status Alone::before_direct_write(std::span<const Vector> /*ranges*/) { return {}; }

void Alone::end_direct_write() {
  const RobustLock lock(file_.shared.control->index_mutex);
  stop_serving_all(*file_.shared.control);
}

Result<uint64_t> Alone::target_bytes() const { return file_.shared.target->size_bytes(); }

// Who is not of this job may have written the file, and says so by a sync of its own (MPI 4.1, 14.6.1). What
// is drained is in the file, for readers at the speed of the page cache.
void Alone::synced() {
  {
    RobustLock lock(file_.shared.control->index_mutex);
    stop_serving_all(*file_.shared.control);
  }
  if (!file_.logged_end.is_beyond_target()) return;
  file_.shared.control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  note_truncation();
}

void Alone::note_foreign_write() { file_.shared.drainer->note_foreign_write(); }

void Alone::note_truncation() { file_.shared.drainer->note_truncation(); }

Status Alone::discard() { return file_.shared.drainer->discard(); }

}  // namespace pmio
