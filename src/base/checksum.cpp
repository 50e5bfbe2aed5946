#include "base/checksum.h"

#include <isa-l.h>

namespace pmio {

uint32_t crc32c(uint32_t seed, const void* bytes, size_t length) {
  // crc32_iscsi neither inverts its seed nor its result, and takes an int length.
  constexpr size_t kStep = size_t{1} << 30;
  uint32_t crc = ~seed;
  auto* at = const_cast<unsigned char*>(static_cast<const unsigned char*>(bytes));
  for (size_t done = 0; done < length;) {
    const size_t step = length - done < kStep ? length - done : kStep;
    crc = crc32_iscsi(at + done, static_cast<int>(step), crc);
    done += step;
  }
  return ~crc;
}

}  // namespace pmio
