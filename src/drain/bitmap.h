// One bit per byte of a window: whether the byte was painted, or taken. Positions are bytes from the start of
// the window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drain/interval.h"

namespace pmio {

// Appends the set parts of [begin, end), as file bytes: bit 0 of words is file byte `base`.
void extract_bits(const uint64_t* words, uint64_t begin, uint64_t end, uint64_t base,
                  std::vector<Interval>* list);

class Bitmap {
 public:
  // Makes room for positions below `end`, and clears [begin, end), perhaps with some neighbours.
  void clear(uint64_t begin, uint64_t end);
  void set(uint64_t begin, uint64_t end);
  // Sets count blocks of `length` at begin, begin + stride, ...; stride >= length.
  void set_blocks(uint64_t begin, uint64_t length, uint64_t stride, uint64_t count);
  // Whether a bit of such blocks is set.
  bool any_of_blocks(uint64_t begin, uint64_t length, uint64_t stride, uint64_t count) const;
  // Appends the set parts of [begin, end), as file bytes: position 0 is file byte `base`.
  void extract(uint64_t begin, uint64_t end, uint64_t base, std::vector<Interval>* list) const;

 private:
  bool any(uint64_t begin, uint64_t end) const;

  std::vector<uint64_t> words_;
};

}  // namespace pmio
