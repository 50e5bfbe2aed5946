// Copies between equal blocks at an even distance and contiguous bytes. The elements of programs are mostly
// floats, doubles and complex numbers: if the compiler knows the length, each copy is one or two moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pmio {

// Calls copy with a function that gives the length. A common length is a constant there.
template <class Copy>
void with_block_length(uint64_t length, Copy copy) {
  switch (length) {
#define PMIO_LENGTH(n) \
  case n:              \
    return copy([] { return size_t{n}; });
    PMIO_LENGTH(1)
    PMIO_LENGTH(2)
    PMIO_LENGTH(4)
    PMIO_LENGTH(8)
    PMIO_LENGTH(12)
    PMIO_LENGTH(16)
    PMIO_LENGTH(24)
    PMIO_LENGTH(32)
    PMIO_LENGTH(40)
#undef PMIO_LENGTH
    default:
      return copy([length] { return length; });
  }
}

// Copies count blocks of `length` bytes, stride bytes apart (of any sign), to contiguous bytes. `to` and
// `from` do not overlap.
inline void gather_blocks(std::byte* __restrict to, const std::byte* __restrict from, uint64_t length,
                          int64_t stride, uint64_t count) {
  with_block_length(length, [&](auto block) {
    for (uint64_t i = 0; i < count; ++i, to += block(), from += stride) std::memcpy(to, from, block());
  });
}

// The other way round.
inline void scatter_blocks(std::byte* __restrict to, const std::byte* __restrict from, uint64_t length,
                           int64_t stride, uint64_t count) {
  with_block_length(length, [&](auto block) {
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(to + static_cast<int64_t>(i) * stride, from + i * block(), block());
  });
}

}  // namespace pmio
