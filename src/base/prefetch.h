// Prefetches memory that no hardware prefetcher foresees, while there is other work.
#pragma once

#include <algorithm>
#include <cstddef>

namespace pmio {

// More would push out of the cache what is needed first. After so many bytes the hardware has noticed the
// stream.
inline constexpr size_t kPrefetchBytes = 2048;
inline constexpr size_t kCacheLine = 64;

// Four lines at a time: else most of the instructions would be the loop's.
template <int kForWriting>
inline void prefetch_lines(const std::byte* from, size_t bytes) {
  constexpr size_t kGroup = 4 * kCacheLine;
  const size_t end = std::min(bytes, kPrefetchBytes);
  size_t at = 0;
  for (; at + kGroup <= end; at += kGroup) {
    __builtin_prefetch(from + at, kForWriting);
    __builtin_prefetch(from + at + kCacheLine, kForWriting);
    __builtin_prefetch(from + at + 2 * kCacheLine, kForWriting);
    __builtin_prefetch(from + at + 3 * kCacheLine, kForWriting);
  }
  for (; at < end; at += kCacheLine) __builtin_prefetch(from + at, kForWriting);
}

// Neither ever faults, even if there is no memory at the address.
inline void prefetch_to_read(const std::byte* from, size_t bytes) { prefetch_lines<0>(from, bytes); }
inline void prefetch_to_write(const std::byte* to, size_t bytes) { prefetch_lines<1>(to, bytes); }

// Small records that are copied one after another are prefetched two ahead of their turn, because memory
// takes longer than the copy of one record.
class PrefetchSequence {
 public:
  // What to prefetch when the record at `data` is copied: the record after the next, if this one follows the
  // last one; else this one.
  const std::byte* next(const std::byte* data, size_t bytes) {
    const bool follows = data == end_;
    end_ = data + bytes;
    return follows && bytes <= kPrefetchBytes ? end_ + bytes : data;
  }

 private:
  const std::byte* end_ = nullptr;
};

// The same if the place of the next record is known: the `end` of this one.
inline const std::byte* after_next(const std::byte* end, size_t bytes) {
  return bytes <= kPrefetchBytes ? end + bytes : end;
}

}  // namespace pmio
