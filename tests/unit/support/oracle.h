// What a file should hold when the writes to it are told in their order: the newest byte wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "extent/pattern.h"

namespace pmio {

struct Oracle {
  std::vector<std::byte> bytes;
  void write(uint64_t offset, const std::byte* data, uint64_t n) {
    if (n == 0) return;
    if (bytes.size() < offset + n) bytes.resize(offset + n);
    std::memcpy(bytes.data() + offset, data, n);
  }
  // The blocks of `data`, one behind the other, go to the places of the vector.
  void write(const Vector& where, const std::vector<std::byte>& data) {
    if (data.empty()) return;
    for (uint64_t block = 0; block < where.count; block++)
      write(static_cast<uint64_t>(where.offset) + block * static_cast<uint64_t>(where.stride),
            data.data() + block * where.block_length, where.block_length);
  }
};

}  // namespace pmio
