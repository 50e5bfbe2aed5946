#include "node/contest.h"

#include "node/appender.h"
#include "node/job_impl.h"
#include "node/large_pieces.h"

namespace pmio {

void Contest::declare() {
  file_.control->contested.store(1, std::memory_order_seq_cst);
  // What others write is no damage, and no round reads what lies between its own pieces and writes it again.
  file_.control->written_aside.store(1, std::memory_order_seq_cst);
  reach_.note_foreign_write();
}

// A log that outlives the node promises more than a write straight to the file: there the drain keeps it.
void Contest::before_append() {
  if (reach_.spans_nodes()) return;  // logged this once, and drained afterwards
  if (!declared() || straight_.exchange(true, std::memory_order_relaxed)) return;
  if (!file_.job->member->outlives_node()) large_pieces_.set_all();
}

Status Contest::after_append() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!declared()) return {};
  // Of several nodes, without a wait for ranks that have not come so far.
  const DrainScope scope = reach_.spans_nodes() ? DrainScope::possible : DrainScope::published;
  if (!file_.own_is_drained()) PMIO_TRY(reach_.drain(scope));
  const RobustLock lock(file_.control->index_mutex);
  stop_serving_all(*file_.control);
  return {};
}

Status Contest::write(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                      CallNumber call) {
  PMIO_TRY(appender_.write_past_log(file, memory, buffer, bytes, true, call));
  return file_.all_drained() ? Status() : reach_.drain(DrainScope::possible);
}

}  // namespace pmio
