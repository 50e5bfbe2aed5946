// Which bytes of a window the ranks of a node have pieces in: told by each of them, found by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drain/bitmap.h"
#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

// One bit for each byte of a window, in memory that the ranks of a node share. Any number of threads may set
// bits at the same time; for the rest only one may use it.
class SharedBits {
 public:
  explicit SharedBits(std::byte* memory) : memory_(memory) {}
  // Bytes of memory, which must begin zeroed.
  static constexpr uint64_t bytes_for(uint64_t window_bytes) { return window_bytes / 64 * 8 + 16; }
  void set(uint64_t begin, uint64_t end);
  void set_blocks(uint64_t begin, uint64_t length, uint64_t stride, uint64_t count);
  // Appends the set parts of [0, end), as file bytes: bit 0 is byte `base`. Clears them.
  void take(uint64_t end, uint64_t base, std::vector<Interval>* list);

 private:
  std::byte* memory_;
};

// The pieces that one rank has in one window. In memory that the ranks of a node share: written by that rank,
// read by another one when the rank has gone on to the next window.
struct alignas(64) PieceList {
  static constexpr uint32_t kRoom = 31;
  uint64_t window;  // the step's number and 1: else the list is of another one
  uint32_t count;
  uint32_t in_bits;  // there were too many: all are in the window's bits
  Vector pieces[kRoom];

  void begin(uint64_t step);
  void add(const Vector& piece, const Interval& of_window, SharedBits bits);
};
static_assert(sizeof(PieceList) == 1024);

// Puts together what lists tell. Keeps scratch memory. Threads: one.
class Coverage {
 public:
  // The bytes of the window that pieces cover, which are all within it, or bits.
  void unite(std::span<const Vector> pieces, bool with_bits, SharedBits bits, const Interval& window,
             std::vector<Interval>* covered);

 private:
  bool unite_by_blocks(std::span<const Vector> pieces, std::vector<Interval>* covered);
  std::vector<Vector> regular_;
  std::vector<Interval> blocks_;
};

}  // namespace pmio
