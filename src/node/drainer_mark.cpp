// What recovery will know of the target, and whether somebody else has written it.
#include <unistd.h>

#include <optional>

#include "node/drainer.h"

namespace pmio {

// Who has written it may write it again, between our bytes and while they are written.
void Drainer::look_for_others() {
  FileControl& control = *parts_.control;
  if (!parts_.times_tell || control.foreign.load(std::memory_order_relaxed) != 0) return;
  const std::optional<FileState> left = parts_.mark->settled_state();
  if (!left) return;
  const Result<FileState> now = parts_.target->state();
  if (!now.ok() || now.value() == *left) return;
  control.foreign.store(1, std::memory_order_relaxed);
  // Else it may have been a rank of this job, by a call that was handed on.
  if (!parts_.say || control.written_aside.load(std::memory_order_relaxed) != 0) return;
  const bool other_size = now.value().size_bytes != left->size_bytes;
  parts_.say("'" + parts_.target->path() + "' was written past MPI-IO while it was open" +
             (other_size ? " (" + std::to_string(left->size_bytes) + " bytes long, then " +
                               std::to_string(now.value().size_bytes) + ")"
                         : std::string()) +
             ": without a call of MPI_File_sync before and after, the program's MPI-IO may undo that");
}

// Without the file's state the mark goes on saying that it is being written, which is never a false alarm.
// Who begins a large write from here on sees that the state is told, and waits for drain_mutex.
void Drainer::settle_mark(bool ahead) {
  LargeWrites& large = parts_.control->large_writes;
  large.state_is_told.store(1, std::memory_order_seq_cst);
  if (large.begun.load(std::memory_order_seq_cst) == large.ended.load(std::memory_order_seq_cst)) {
    if (auto state = parts_.target->state(); state.ok()) {
      parts_.mark->settled(*state, ahead);
      return;
    }
  }
  large.state_is_told.store(0, std::memory_order_seq_cst);
}

Status Drainer::withdraw_state() {
  PMIO_TRY(parts_.mark->writing());
  parts_.control->large_writes.state_is_told.store(0, std::memory_order_seq_cst);
  return {};
}

void Drainer::note_before_first_write() {
  const RobustLock lock(parts_.control->drain_mutex, std::try_to_lock);
  // Not held: somebody drains, or is here for the same reason.
  if (lock.held() && parts_.mark->blank()) settle_mark(false);
}

void Drainer::note_foreign_write() {
  const RobustLock lock(parts_.control->drain_mutex);
  // Where the mark cannot be written, recovery asks for --force where it need not.
  static_cast<void>(withdraw_state());
}

// If a round goes on, the state is not told: so this waits for nobody who writes.
void Drainer::begin_large_write() {
  LargeWrites& large = parts_.control->large_writes;
  large.begun.fetch_add(1, std::memory_order_seq_cst);
  while (large.state_is_told.load(std::memory_order_seq_cst) != 0) {
    const RobustLock lock(parts_.control->drain_mutex, std::try_to_lock);
    if (!lock.held()) {
      usleep(kPollMicroseconds);
      continue;
    }
    static_cast<void>(parts_.mark->writing());
    large.state_is_told.store(0, std::memory_order_seq_cst);
  }
}

void Drainer::end_large_write() {
  parts_.control->large_writes.ended.fetch_add(1, std::memory_order_seq_cst);
}

void Drainer::expect_large_writes() {
  parts_.control->large_writes.any.store(1, std::memory_order_seq_cst);
  const RobustLock wait(parts_.control->drain_mutex);
}

}  // namespace pmio
