// Copies of about a kilobyte, of which pmio makes most: a record into the log, out of it, into a window.
#pragma once

#include <cstddef>

namespace pmio {

// As std::memcpy: no overlap. What has 64 bytes to 16 KiB is copied line by line from the front. The C
// library's memcpy is made for any length and any overlap: it goes by another order, or by `rep movs`, and
// takes up to twice as long where the destination comes from memory (bench/append_bench.cpp).
void copy_bytes(std::byte* to, const std::byte* from, size_t length_bytes);

}  // namespace pmio
