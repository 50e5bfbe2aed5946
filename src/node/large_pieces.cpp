#include "node/large_pieces.h"

#include <algorithm>

#include "base/file_system.h"
#include "drain/blocks.h"
#include "node/job_impl.h"

namespace pmio {
namespace {

class LargeWrite {
 public:
  explicit LargeWrite(Drainer& drainer) : drainer_(drainer) { drainer_.begin_large_write(); }
  ~LargeWrite() { drainer_.end_large_write(); }
  LargeWrite(const LargeWrite&) = delete;
  LargeWrite& operator=(const LargeWrite&) = delete;

 private:
  Drainer& drainer_;
};

}  // namespace

void LargePieces::set(const DirectFrom& from) {
  DirectFrom allowed = file_.job->member->outlives_node() ? DirectFrom{} : from;
  const bool is_default = allowed.warm == kDirectFrom.warm && allowed.cold == kDirectFrom.cold;
  if (is_default && is_memory(file_.target->file_system())) allowed.cold = kDirectFromInMemory.cold;
  unless_hidden_.store(allowed.unless_hidden, std::memory_order_relaxed);
  from_warm_.store(allowed.warm, std::memory_order_relaxed);
  from_cold_.store(allowed.cold, std::memory_order_relaxed);
  least_bytes_.store(std::min(allowed.warm, allowed.cold), std::memory_order_relaxed);
}

void LargePieces::set_all() {
  unless_hidden_.store(false, std::memory_order_relaxed);
  for (std::atomic<uint64_t>* bytes : {&from_warm_, &from_cold_, &least_bytes_})
    bytes->store(1, std::memory_order_relaxed);
}

void LargePieces::begin_piece(uint64_t bytes, uint64_t now_ns) {
  pauses_.begin(bytes, now_ns, file_.own_is_drained());
}

// The cells tell it of whole segments, which is enough for most programs; else the records do. Bytes that
// cannot be looked up cannot be read or drained either: who does that tells of it.
Held LargePieces::held(const Vector& where) {
  const Held by_cells =
      held_by_cells(*file_.control, static_cast<uint64_t>(where.offset), static_cast<uint64_t>(where.end()));
  if (by_cells != Held::undrained) return by_cells;
  bool undrained = true;
  const Status status = reader_.holds_undrained(where, &undrained);
  return status.ok() && !undrained ? Held::drained : Held::undrained;
}

Status LargePieces::write(const Vector& where, PatternCursor& memory, const std::byte* buffer,
                          bool* written) {
  *written = false;
  Job::Impl& job = *file_.job;
  // Then other ranks' logs may be out of reach, and nothing is logged any more.
  if (job.member->is_past_log() || job.lost_log.is_known(*file_.control)) return {};
  if (!expected_) file_.drainer->expect_large_writes();
  expected_ = true;
  const Held held_now = held(where);
  if (held_now == Held::undrained) return {};
  if (held_now == Held::drained) {
    const RobustLock lock(file_.control->index_mutex);
    stop_serving_all(*file_.control);
  }
  const LargeWrite large(*file_.drainer);
  *written = true;
  any_written_.store(true, std::memory_order_relaxed);
  if (!suits(where.block_length, true))
    if_cold_bytes_.store(if_cold_bytes() + where.bytes(), std::memory_order_relaxed);
  return direct_writer_.write_vector(where, memory, buffer);
}

}  // namespace pmio
