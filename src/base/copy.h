// Copies of about a kilobyte, which are most of pmio's copies: a record into the log, out of it, into a
// window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pmio {

// As std::memcpy, without overlap. Copies of 64 bytes to 16 KiB go line by line from the front. The C
// library's memcpy is made for any length: it goes by another order, or by `rep movs`. If the destination
// comes from memory, it takes up to twice as long (bench/append_bench.cpp).
// So do longer ones for which `rep movs` is slow.
void copy_bytes(std::byte* to, const std::byte* from, size_t length_bytes);

// The first and the last Word of 1 to 2 of them, which may overlap each other.
template <class Word>
void copy_ends(std::byte* to, const std::byte* from, size_t length_bytes) {
  Word first, last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + length_bytes - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + length_bytes - sizeof last, &last, sizeof last);
}

// As copy_bytes. Irregular pieces are often 4 to 16 bytes long, and then a call takes as long as the copy.
inline void copy_piece(std::byte* to, const std::byte* from, size_t length_bytes) {
  if (length_bytes > 16 || length_bytes < 4) return copy_bytes(to, from, length_bytes);
  length_bytes >= 8 ? copy_ends<uint64_t>(to, from, length_bytes)
                    : copy_ends<uint32_t>(to, from, length_bytes);
}

}  // namespace pmio
