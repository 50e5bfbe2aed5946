#include "base/copy.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pmio {

#if defined(__x86_64__)

namespace {

constexpr size_t kLine = 64;
constexpr size_t kMost = 16 << 10;  // beyond, how a copy begins and ends matters little

// Some processors take up to 25 times as long for `rep movs` if the destination lies so little behind the
// source, but for whole pages between them. Memory from malloc does, behind the data of a log or of a page.
bool is_slow_to_repeat(const std::byte* to, const std::byte* from) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t behind = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  return behind % kPage - 1 < kLine - 1;
}

// false until the library is initialised: memcpy is then as right.
const bool has_avx2 = __builtin_cpu_supports("avx2");

__attribute__((target("avx2"))) inline void copy_line(std::byte* to, const std::byte* from) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + kLine / 2));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kLine / 2), high);
}

// length >= kLine.
__attribute__((target("avx2"))) void copy_lines(std::byte* to, const std::byte* from, size_t length) {
  size_t at = 0;
  for (; at + kLine <= length; at += kLine) copy_line(to + at, from + at);
  if (at < length) copy_line(to + length - kLine, from + length - kLine);  // some bytes twice
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, size_t length_bytes) {
  if (length_bytes < kLine || !has_avx2 || (length_bytes > kMost && !is_slow_to_repeat(to, from))) {
    std::memcpy(to, from, length_bytes);
    return;
  }
  copy_lines(to, from, length_bytes);
}

#else

void copy_bytes(std::byte* to, const std::byte* from, size_t length_bytes) {
  std::memcpy(to, from, length_bytes);
}

#endif

}  // namespace pmio
