// Writes that go to the file and not to the log. That is what a call has left when it finds no room in the
// log. And it is independent writes of a file of several nodes that are better not logged.
//
// Alone, they go behind all that is in the log. Of several nodes, they go behind what the other nodes have
// there, and count as unsynced (node/writes_to_sync.h).
//
// Threads: any; alone, one that holds the append lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

#include "extent/pattern.h"
#include "node/logged_end.h"
#include "node/reach.h"
#include "node/shared_file.h"

namespace pmio {

class DirectWriter {
 public:
  DirectWriter(SharedFile& file, Reach& reach, LoggedEnd& logged_end)
      : file_(file), reach_(reach), logged_end_(logged_end) {}
  // Writes the next `bytes` of the memory cursor's stream, as the next `bytes` of the file cursor's. On
  // return seen by all, and as durable as what is logged.
  Status write(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes);
  // The same for the next where.bytes() of the memory cursor's stream, with nothing before or after it.
  Status write_vector(const Vector& where, PatternCursor& memory, const std::byte* buffer);

 private:
  Status write_batch(std::span<const Vector> ranges, PatternCursor& memory, const std::byte* buffer);
  SharedFile& file_;
  Reach& reach_;
  LoggedEnd& logged_end_;
};

}  // namespace pmio
