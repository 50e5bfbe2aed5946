#include "drain/sort.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace pmio {
namespace {

constexpr unsigned kDigitBits = 9;  // 512 open buckets still fit the TLB and the L1 cache
constexpr size_t kRadix = size_t{1} << kDigitBits;
constexpr size_t kSmall = 128;

bool before(const Entry& a, const Entry& b) { return a.offset < b.offset; }

void copy(Entry* to, const Entry* from, size_t n) {
  if (n > 0) std::memcpy(to, from, n * sizeof(Entry));
}

// Which side comes next cannot be predicted, so the step is written to compile without a branch on it.
void merge(const Entry* a, const Entry* a_end, const Entry* b, const Entry* b_end, Entry* out) {
  while (a != a_end && b != b_end) {
    const bool take_b = before(*b, *a);
    const Entry* from = take_b ? b : a;
    *out++ = *from;
    a += !take_b;
    b += take_b;
  }
  copy(out, a, static_cast<size_t>(a_end - a));
  out += a_end - a;
  copy(out, b, static_cast<size_t>(b_end - b));
}

// starts: where each ascending sequence begins, then n. Merges neighbours until one is left.
Entry* merge_sequences(Entry* entries, Entry* scratch, std::vector<size_t>& starts) {
  while (starts.size() > 2) {
    size_t kept = 0;
    for (size_t i = 0; i + 1 < starts.size(); i += 2) {
      const size_t begin = starts[i], middle = starts[i + 1];
      const size_t end = i + 2 < starts.size() ? starts[i + 2] : middle;
      merge(entries + begin, entries + middle, entries + middle, entries + end, scratch + begin);
      starts[kept++] = begin;
    }
    starts[kept++] = starts.back();
    starts.resize(kept);
    std::swap(entries, scratch);
  }
  return entries;
}

struct Digits {
  uint64_t lowest;
  unsigned shift;  // offsets are often multiples of something
  unsigned passes;
};

Digits digits_of(const Entry* entries, size_t n) {
  uint64_t lowest = UINT64_MAX, highest = 0, differing = 0;
  for (size_t i = 0; i < n; ++i) {
    lowest = std::min(lowest, entries[i].offset);
    highest = std::max(highest, entries[i].offset);
  }
  for (size_t i = 0; i < n; ++i) differing |= entries[i].offset - lowest;
  if (differing == 0) return {lowest, 0, 0};
  const auto shift = static_cast<unsigned>(std::countr_zero(differing));
  const auto bits = static_cast<unsigned>(std::bit_width((highest - lowest) >> shift));
  return {lowest, shift, (bits + kDigitBits - 1) / kDigitBits};
}

Entry* radix_sort(Entry* entries, Entry* scratch, size_t n, const Digits& digits) {
  for (unsigned pass = 0; pass < digits.passes; ++pass) {
    const unsigned shift = digits.shift + pass * kDigitBits;
    const auto digit = [&](const Entry& e) { return ((e.offset - digits.lowest) >> shift) & (kRadix - 1); };
    size_t at[kRadix] = {};
    for (size_t i = 0; i < n; ++i) ++at[digit(entries[i])];
    for (size_t i = 0, sum = 0; i < kRadix; ++i) sum += std::exchange(at[i], sum);
    for (size_t i = 0; i < n; ++i) scratch[at[digit(entries[i])]++] = entries[i];
    std::swap(entries, scratch);
  }
  return entries;
}

}  // namespace

Entry* sort_by_offset(Entry* entries, size_t n, Entry* scratch) {
  // More sequences than this cost more merges than the radix sort costs passes.
  const size_t most_sequences = 1 + n / 8;
  std::vector<size_t> starts;
  for (size_t i = 1; i < n && starts.size() <= most_sequences; ++i) {
    if (!before(entries[i], entries[i - 1])) continue;
    if (starts.empty()) starts.push_back(0);
    starts.push_back(i);
  }
  if (starts.empty()) return entries;
  const size_t sequences = starts.size();
  if (n > kSmall) {
    const Digits digits = digits_of(entries, n);
    const auto merges = static_cast<unsigned>(std::bit_width(sequences - 1));
    if (sequences > most_sequences || merges > digits.passes + 1)
      return radix_sort(entries, scratch, n, digits);
  } else if (sequences > most_sequences) {
    std::stable_sort(entries, entries + n, before);
    return entries;
  }
  starts.push_back(n);
  return merge_sequences(entries, scratch, starts);
}

}  // namespace pmio
