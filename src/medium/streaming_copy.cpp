#include "medium/streaming_copy.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pmio {

namespace {

// The blocks are so small that the copy finds in the first-level cache what the checksum has just read.
constexpr size_t kBlock = 4 << 10;
constexpr size_t kStreamFrom = 8 << 10;

uint32_t copy_cached(std::byte* to, const std::byte* from, size_t length, uint32_t crc) {
  for (size_t done = 0; done < length;) {
    const size_t step = std::min(kBlock, length - done);
    crc = crc32c(crc, from + done, step);
    copy_bytes(to + done, from + done, step);
    done += step;
  }
  return crc;
}

#if defined(__x86_64__)

constexpr size_t kLine = 64;

bool can_stream() {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2;
}

// `to` is aligned to a cache line, and length is a multiple of one.
__attribute__((target("avx2"))) void stream_lines(std::byte* to, const std::byte* from, size_t length) {
  for (size_t at = 0; at < length; at += kLine) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + kLine / 2));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at + kLine / 2), high);
  }
}

uint32_t copy_streamed(std::byte* to, const std::byte* from, size_t length, uint32_t crc) {
  // Only whole lines are streamed. The two ends share their lines with the neighbours and go through the
  // cache.
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  crc = copy_cached(to, from, head, crc);
  const size_t lines_end = head + (length - head) / kLine * kLine;
  for (size_t done = head; done < lines_end;) {
    const size_t step = std::min(kBlock, lines_end - done);
    crc = crc32c(crc, from + done, step);
    stream_lines(to + done, from + done, step);
    done += step;
  }
  crc = copy_cached(to + lines_end, from + lines_end, length - lines_end, crc);
  // Streaming stores are not ordered with later stores. Without this fence a reader in another process could
  // see the record published before its data.
  _mm_sfence();
  return crc;
}

#else

constexpr bool can_stream() { return false; }
uint32_t copy_streamed(std::byte* to, const std::byte* from, size_t length, uint32_t crc) {
  return copy_cached(to, from, length, crc);
}

#endif

}  // namespace

uint32_t copy_with_checksum(std::byte* to, const void* from, size_t length_bytes, uint32_t seed) {
  const auto* source = static_cast<const std::byte*>(from);
  if (length_bytes <= kBlock) {
    const uint32_t crc = crc32c(seed, source, length_bytes);
    copy_bytes(to, source, length_bytes);
    return crc;
  }
  if (length_bytes >= kStreamFrom && can_stream()) return copy_streamed(to, source, length_bytes, seed);
  return copy_cached(to, source, length_bytes, seed);
}

}  // namespace pmio
