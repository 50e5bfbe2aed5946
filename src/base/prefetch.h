// Memory that no hardware prefetcher foresees, asked for while there is other work.
#pragma once

#include <algorithm>
#include <cstddef>

namespace pmio {

// More would push out what is needed first, and by then the hardware has noticed.
inline constexpr size_t kPrefetchBytes = 2048;
inline constexpr size_t kCacheLine = 64;

// Neither ever faults: there need be no memory.
inline void prefetch_to_read(const std::byte* from, size_t bytes) {
  for (size_t at = 0; at < std::min(bytes, kPrefetchBytes); at += kCacheLine) __builtin_prefetch(from + at);
}

inline void prefetch_to_write(const std::byte* to, size_t bytes) {
  for (size_t at = 0; at < std::min(bytes, kPrefetchBytes); at += kCacheLine) __builtin_prefetch(to + at, 1);
}

}  // namespace pmio
