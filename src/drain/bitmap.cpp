#include "drain/bitmap.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/status.h"

namespace pmio {
namespace {

static_assert(std::endian::native == std::endian::little,
              "a byte of the bitmap stands for 8 bytes of the window");

// Up to kShortBits bits from any position lie in one 16-bit number that starts at a byte.
constexpr uint64_t kShortBits = 9;

void set_short(unsigned char* bytes, uint64_t begin, uint64_t length) {
  uint16_t bits;
  std::memcpy(&bits, bytes + begin / 8, sizeof bits);
  bits = static_cast<uint16_t>(bits | ((1u << length) - 1) << begin % 8);
  std::memcpy(bytes + begin / 8, &bits, sizeof bits);
}

bool any_short(const unsigned char* bytes, uint64_t begin, uint64_t length) {
  uint16_t bits;
  std::memcpy(&bits, bytes + begin / 8, sizeof bits);
  return (bits & ((1u << length) - 1) << begin % 8) != 0;
}

}  // namespace

void Bitmap::clear(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  // One word more than needed, so that set_short and any_short may reach over the end.
  const uint64_t first = begin / 64, last = (end + 63) / 64;
  if (words_.size() < last + 1) words_.resize(last + 1);
  std::fill(words_.begin() + static_cast<ptrdiff_t>(first), words_.begin() + static_cast<ptrdiff_t>(last), 0);
}

void Bitmap::set(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  const uint64_t first = begin / 64, last = (end - 1) / 64;
  PMIO_ASSERT(last < words_.size());
  const uint64_t head = ~uint64_t{0} << begin % 64, tail = ~uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_.begin() + static_cast<ptrdiff_t>(first) + 1, words_.begin() + static_cast<ptrdiff_t>(last),
            ~uint64_t{0});
  words_[last] |= tail;
}

void Bitmap::set_blocks(uint64_t begin, uint64_t length, uint64_t stride, uint64_t count) {
  auto* bytes = reinterpret_cast<unsigned char*>(words_.data());
  if (length == 8 && begin % 8 == 0 && stride % 8 == 0) {
    for (uint64_t i = 0; i < count; ++i) bytes[begin / 8 + i * (stride / 8)] = 0xff;
  } else if (length <= kShortBits) {
    for (uint64_t i = 0; i < count; ++i) set_short(bytes, begin + i * stride, length);
  } else {
    for (uint64_t i = 0; i < count; ++i) set(begin + i * stride, begin + i * stride + length);
  }
}

bool Bitmap::any(uint64_t begin, uint64_t end) const {
  const uint64_t first = begin / 64, last = (end - 1) / 64;
  const uint64_t head = ~uint64_t{0} << begin % 64, tail = ~uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) return (words_[first] & head & tail) != 0;
  if ((words_[first] & head) != 0 || (words_[last] & tail) != 0) return true;
  return std::any_of(words_.begin() + static_cast<ptrdiff_t>(first) + 1,
                     words_.begin() + static_cast<ptrdiff_t>(last), [](uint64_t word) { return word != 0; });
}

bool Bitmap::any_of_blocks(uint64_t begin, uint64_t length, uint64_t stride, uint64_t count) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(words_.data());
  const bool brief = length <= kShortBits;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = begin + i * stride;
    if (brief ? any_short(bytes, at, length) : any(at, at + length)) return true;
  }
  return false;
}

void Bitmap::extract(uint64_t begin, uint64_t end, uint64_t base, std::vector<Interval>* list) const {
  if (begin >= end) return;
  PMIO_ASSERT((end - 1) / 64 < words_.size());
  extract_bits(words_.data(), begin, end, base, list);
}

void extract_bits(const uint64_t* words, uint64_t begin, uint64_t end, uint64_t base,
                  std::vector<Interval>* list) {
  if (begin >= end) return;
  const uint64_t first = begin / 64, last = (end - 1) / 64;
  uint64_t start = 0, previous = 0;  // previous: the last bit of the word before
  bool inside = false;
  for (uint64_t at = first; at <= last; ++at) {
    uint64_t word = words[at];
    if (at == first) word &= ~uint64_t{0} << begin % 64;
    // A bit that differs from its predecessor begins or ends an interval. Full and empty words have none.
    for (uint64_t edges = word ^ (word << 1 | previous); edges != 0; edges &= edges - 1) {
      const uint64_t edge = at * 64 + static_cast<uint64_t>(std::countr_zero(edges));
      if (edge >= end) break;
      if (inside) append_interval(list, base + start, base + edge);
      start = edge;
      inside = !inside;
    }
    previous = word >> 63;
  }
  if (inside) append_interval(list, base + start, base + end);
}

}  // namespace pmio
