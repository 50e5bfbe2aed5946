// Copies of about a kilobyte, which are most of pmio's copies: a record into the log, out of it, into a
// window.
#pragma once

#include <cstddef>

namespace pmio {

// As std::memcpy, without overlap. Copies of 64 bytes to 16 KiB go line by line from the front. The C
// library's memcpy is made for any length: it goes by another order, or by `rep movs`. If the destination
// comes from memory, it takes up to twice as long (bench/append_bench.cpp).
// So do longer ones for which `rep movs` is slow.
void copy_bytes(std::byte* to, const std::byte* from, size_t length_bytes);

}  // namespace pmio
