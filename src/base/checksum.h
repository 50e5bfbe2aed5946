// CRC-32C (Castagnoli) over bytes, by ISA-L. Values are chained:
// crc32c(crc32c(seed, a), b) == crc32c(seed, a ++ b).
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmio {
uint32_t crc32c(uint32_t seed, const void* bytes, size_t length);
}
