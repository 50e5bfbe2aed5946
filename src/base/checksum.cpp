#include "base/checksum.h"

#include <isa-l.h>

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pmio {

namespace {

// Below this, ISA-L's dispatch and folding cost more than the processor's own instruction takes.
constexpr size_t kShort = 128;

#if defined(__x86_64__)

bool has_instruction() {
  static const bool sse42 = __builtin_cpu_supports("sse4.2");
  return sse42;
}

// crc: inverted, as the instruction takes it. Advances *at.
template <class Word>
__attribute__((target("sse4.2"))) uint64_t crc_of(uint64_t crc, const unsigned char** at) {
  Word word;
  std::memcpy(&word, *at, sizeof word);
  *at += sizeof word;
  if constexpr (sizeof word == 8) return _mm_crc32_u64(crc, word);
  return _mm_crc32_u32(static_cast<uint32_t>(crc), word);
}

__attribute__((target("sse4.2"))) uint32_t crc_by_instruction(uint64_t crc, const unsigned char* at,
                                                              size_t length) {
  const unsigned char* const end = at + length;
  // From a record's second word on: what is loaded across two words that have only just been stored waits for
  // all stores before it. Those of the data into the log are among them.
  if (length >= 4 && reinterpret_cast<uintptr_t>(at) % 8 == 4) crc = crc_of<uint32_t>(crc, &at);
  while (end - at >= 8) crc = crc_of<uint64_t>(crc, &at);
  if (end - at >= 4) crc = crc_of<uint32_t>(crc, &at);
  auto narrow = static_cast<uint32_t>(crc);
  for (; at < end; ++at) narrow = _mm_crc32_u8(narrow, *at);
  return narrow;
}

bool has_avx() {
  static const bool avx = __builtin_cpu_supports("avx");
  return avx;
}

// ISA-L leaves the upper halves of the vector registers in use. Until they are given back, Intel's processors
// take some hundred cycles for every change between VEX-encoded instructions and others, here and in the
// program.
__attribute__((target("avx"))) void release_upper_halves() { _mm256_zeroupper(); }

#else

constexpr bool has_avx() { return false; }
void release_upper_halves() {}
constexpr bool has_instruction() { return false; }
uint32_t crc_by_instruction(uint32_t crc, const unsigned char*, size_t) { return crc; }

#endif

}  // namespace

uint32_t crc32c(uint32_t seed, const void* bytes, size_t length) {
  // crc32_iscsi neither inverts its seed nor its result, and takes an int length.
  constexpr size_t kStep = size_t{1} << 30;
  uint32_t crc = ~seed;
  auto* at = const_cast<unsigned char*>(static_cast<const unsigned char*>(bytes));
  if (length < kShort && has_instruction()) return ~crc_by_instruction(crc, at, length);
  for (size_t done = 0; done < length;) {
    const size_t step = length - done < kStep ? length - done : kStep;
    crc = crc32_iscsi(at + done, static_cast<int>(step), crc);
    done += step;
  }
  if (has_avx()) release_upper_halves();
  return ~crc;
}

}  // namespace pmio
