#include "node/target_changes.h"

#include "node/file_parts.h"

namespace pmio {

void TargetChanges::invalidate_cache() {
  FileControl& control = *parts_.shared.control;
  parts_.reach->note_foreign_write();
  control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  RobustLock lock(control.index_mutex);
  stop_serving_all(control);
}

void TargetChanges::forget_here() {
  invalidate_cache();
  parts_.shared.control->known_size.store(UINT64_MAX, std::memory_order_release);
}

void TargetChanges::forget_cache() {
  forget_here();
  parts_.reach->forget_elsewhere();
}

void TargetChanges::set_known_size(uint64_t bytes) {
  FileControl& control = *parts_.shared.control;
  control.known_size.store(bytes, std::memory_order_release);
  control.foreign_writes.fetch_add(1, std::memory_order_seq_cst);
}

Status TargetChanges::make_room(uint64_t bytes, uint64_t known_end) {
  const auto made = parts_.shared.target->allocate(bytes);
  if (!made.ok()) return made.status();
  if (!made.value()) {
    // A round, of any handle of the job, would write behind the end that is looked at.
    const RobustLock lock(parts_.shared.control->drain_mutex);
    PMIO_TRY(parts_.shared.target->grow(bytes, known_end));
  }
  return parts_.reach->spans_nodes() ? sync() : Status();
}

void TargetChanges::truncated_here() {
  parts_.shared.control->foreign_writes.fetch_add(1, std::memory_order_seq_cst);
  parts_.reach->note_truncation();
}

void TargetChanges::truncated() {
  truncated_here();
  parts_.reach->truncated_elsewhere();
}

Status TargetChanges::discard() { return parts_.reach->discard(); }

Status TargetChanges::sync() {
  Status synced = parts_.shared.target->sync();
  if (!synced.ok()) parts_.shared.control->writes_to_sync.note_loss(synced);
  return synced;
}

}  // namespace pmio
