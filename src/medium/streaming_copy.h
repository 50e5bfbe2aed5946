// The copy into the log, with its checksum, for media that are ordinary cached memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmio {

// Copies length bytes and returns crc32c(seed, from). On return the bytes are visible in program order, like
// those of memcpy. From a few KiB on they go past the caches, because a log is written once and read much
// later. So the destination's lines need not be fetched only to be overwritten.
uint32_t copy_with_checksum(std::byte* to, const void* from, size_t length_bytes, uint32_t seed);

}  // namespace pmio
