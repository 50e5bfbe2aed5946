// Bytes of a GPU's memory on their way to and from a file: through the CPU's memory, some of them at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/status.h"
#include "extent/pattern.h"
#include "mpi/memory.h"

namespace pmio {

inline constexpr uint64_t kStageBytes = 4 << 20;

// Of bytes that lie one behind the other.
inline const Pattern& byte_stream() {
  static const Pattern& stream = *new Pattern(Pattern::bytes(1));
  return stream;
}

// Has all bytes of the memory written, by write(cursor, buffer, bytes, goes_on): more follow.
template <class Write>
Status write_staged(const Memory& memory, const Write& write) {
  PatternCursor from = memory.cursor();
  const auto stage = std::make_unique_for_overwrite<std::byte[]>(std::min(kStageBytes, memory.bytes()));
  for (uint64_t left = memory.bytes(), bytes = 0; left > 0; left -= bytes) {
    bytes = std::min(left, kStageBytes);
    PMIO_TRY(memory.fetch(from, stage.get(), bytes));
    PatternCursor staged(byte_stream(), 0, 0);
    PMIO_TRY(write(staged, stage.get(), bytes, left > bytes));
  }
  return {};
}

// Has bytes read into the memory, by read(cursor, buffer, bytes, &got), until less has come than was asked
// for. *done: so many have come.
template <class Read>
Status read_staged(const Memory& memory, const Read& read, uint64_t* done) {
  PatternCursor to = memory.cursor();
  const auto stage = std::make_unique_for_overwrite<std::byte[]>(std::min(kStageBytes, memory.bytes()));
  for (*done = 0; *done < memory.bytes();) {
    const uint64_t bytes = std::min(memory.bytes() - *done, kStageBytes);
    uint64_t got = 0;
    PatternCursor staged(byte_stream(), 0, 0);
    PMIO_TRY(read(staged, stage.get(), bytes, &got));
    PMIO_TRY(memory.store(to, stage.get(), got));
    *done += got;
    if (got < bytes) break;
  }
  return {};
}

}  // namespace pmio
