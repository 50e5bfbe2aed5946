// Pieces of a write that are so large that they go straight to the file, as independent MPI-IO without a log
// would write them: one copy instead of two (decision 0025). Only of a file whose ranks are all on this node,
// and if the log is not to survive more than the file's page cache does.
//
// A piece goes to the file only if no log holds undrained bytes of it. So the file and the logs keep one
// order without a record of the piece:
//   what was logged before it is in the file already, and what of it was served from the logs is not served
//   any more; what is logged after it has a later round; what another rank logs meanwhile is not ordered
//   against it by the program.
//
// Threads: the one that holds the append lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "extent/pattern.h"
#include "node/direct_writer.h"
#include "node/job.h"
#include "node/log_reader.h"
#include "node/pauses.h"
#include "node/shared_file.h"

namespace pmio {

class LargePieces {
 public:
  LargePieces(SharedFile& file, LogReader& reader, DirectWriter& direct_writer, IdleSightings& idle)
      : file_(file), reader_(reader), direct_writer_(direct_writer), pauses_(idle) {}

  // From now on. Any thread.
  void set(const DirectFrom& from);
  // All pieces, however short.
  void set_all();
  // No shorter piece ever goes straight to the file; UINT64_MAX: none does.
  uint64_t least_bytes() const { return least_bytes_.load(std::memory_order_relaxed); }
  // Whether a piece of at least least_bytes() does, if the log has warm room for it or not.
  bool suits(uint64_t bytes, bool warm) const {
    if (warm && unless_hidden_.load(std::memory_order_relaxed) && pauses_.hide_drains()) return false;
    return bytes >= (warm ? from_warm_ : from_cold_).load(std::memory_order_relaxed);
  }
  // A piece of at least least_bytes() comes, and has been written, to the file or the log.
  void begin_piece(uint64_t bytes, uint64_t now_ns);
  void end_piece(uint64_t now_ns) { pauses_.end(now_ns); }
  // Those between large pieces. Any thread, but for begin and end.
  Pauses& pauses() { return pauses_; }
  // So much of the log is to be warm for the next of them. Any thread.
  uint64_t wanted_warm_bytes() const {
    return unless_hidden_.load(std::memory_order_relaxed) ? pauses_.wanted_warm_bytes() : 0;
  }
  // Whether any has gone to the file. Any thread.
  bool any_written() const { return any_written_.load(std::memory_order_relaxed); }
  // So many bytes of them would have been logged if the log had been warm. Any thread.
  uint64_t if_cold_bytes() const { return if_cold_bytes_.load(std::memory_order_relaxed); }
  // Writes the next where.bytes() of the memory cursor's stream to these places of the file. On return seen
  // by all. *written is false if nothing was written, as the bytes belong into the log. Errors: as of
  // pwrite(2); a part may be written then.
  Status write(const Vector& where, PatternCursor& memory, const std::byte* buffer, bool* written);

 private:
  Held held(const Vector& where);

  SharedFile& file_;
  LogReader& reader_;
  DirectWriter& direct_writer_;
  std::atomic<uint64_t> from_warm_{UINT64_MAX}, from_cold_{UINT64_MAX}, least_bytes_{UINT64_MAX};
  std::atomic<bool> any_written_{false};
  std::atomic<uint64_t> if_cold_bytes_{0};
  std::atomic<bool> unless_hidden_{false};
  Pauses pauses_;
  bool expected_ = false;  // Drainer::expect_large_writes
};

}  // namespace pmio
