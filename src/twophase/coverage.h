// Which bytes of a window the ranks of a node have pieces in: told by each of them, found by one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "drain/bitmap.h"
#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

// One bit for each byte of a window, in memory that the ranks of a node share. Any number of BitSetters may
// be used at the same time; for the rest only one thread may use it.
class SharedBits {
 public:
  // At a multiple of 8 bytes.
  explicit SharedBits(std::byte* memory) : words_(reinterpret_cast<uint64_t*>(memory)) {}
  // Bytes of memory, which must begin zeroed.
  static constexpr uint64_t bytes_for(uint64_t window_bytes) { return window_bytes / 64 * 8 + 16; }
  // Appends the set parts of [0, end), as file bytes: bit 0 is byte `base`. Clears them.
  void take(uint64_t end, uint64_t base, std::vector<Interval>* list);

 private:
  friend class BitSetter;
  uint64_t* words_;
};

// Sets bits for one thread. Those near each other are put together first: an atomic operation waits for all
// stores before it, and those into an image may be to cache lines that are far away.
class BitSetter {
 public:
  explicit BitSetter(SharedBits bits) : words_(bits.words_) {}
  ~BitSetter() { flush(); }
  BitSetter(const BitSetter&) = delete;
  BitSetter& operator=(const BitSetter&) = delete;
  void set(uint64_t begin, uint64_t end) {
    const uint64_t first = begin / 64, last = (end - 1) / 64;
    const uint64_t head = ~uint64_t{0} << begin % 64, tail = ~uint64_t{0} >> (63 - (end - 1) % 64);
    if (first == last) {
      unite(first, head & tail);
      return;
    }
    unite(first, head);
    // Only a rank whose bytes overlap these sets bits in them, and all are set whoever comes first.
    for (uint64_t word = first + 1; word < last; ++word) words_[word] = ~uint64_t{0};
    unite(last, tail);
  }
  // Bit 0 is byte `base` of the file.
  void set_piece(const Vector& piece, uint64_t base) {
    uint64_t begin = static_cast<uint64_t>(piece.offset) - base;
    for (uint64_t i = 0; i < piece.count; ++i, begin += static_cast<uint64_t>(piece.stride))
      set(begin, begin + piece.block_length);
  }

 private:
  static constexpr uint64_t kRoom = 512;  // words: 32 KiB of a window
  void unite(uint64_t word, uint64_t bits) {
    if (word - first_ >= kRoom) {  // in front of them, too
      flush();
      first_ = end_ = word;
    }
    while (end_ <= word) near_[end_++ - first_] = 0;
    near_[word - first_] |= bits;
  }
  void flush() {
    for (uint64_t word = first_; word < end_; ++word) {
      const uint64_t bits = near_[word - first_];
      if (bits == ~uint64_t{0})
        words_[word] = bits;
      else if (bits != 0)
        std::atomic_ref(words_[word]).fetch_or(bits, std::memory_order_relaxed);
    }
  }

  uint64_t* words_;
  // Words [first_, end_), not set yet.
  uint64_t first_ = 0, end_ = 0;
  std::array<uint64_t, kRoom> near_;
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
  // Of the window's bits. The setter's must all be set before another rank reads the list.
  void add(const Vector& piece, const Interval& of_window, BitSetter& bits) {
    if (in_bits == 0 && count < kRoom) {
      pieces[count++] = piece;
      return;
    }
    if (in_bits == 0) move_to_bits(of_window, bits);
    bits.set_piece(piece, of_window.begin);
  }

 private:
  void move_to_bits(const Interval& of_window, BitSetter& bits);
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
