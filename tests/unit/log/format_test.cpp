// Checksums: known values, every length against the definition, and seeds that never coincide.
#include "log/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "base/checksum.h"

namespace pmio {
namespace {

uint32_t by_definition(uint32_t seed, const unsigned char* at, size_t length) {
  uint32_t crc = ~seed;
  for (; length > 0; --length, ++at) {
    crc ^= *at;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

TEST(Checksum, KnownValue) { EXPECT_EQ(crc32c(0, "123456789", 9), 0xe3069283u); }

TEST(Checksum, EveryLengthAndChaining) {
  std::vector<unsigned char> bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * i >> 3);
  for (size_t length = 0; length < 600; ++length) {
    for (size_t from = 0; from < 3; ++from)
      ASSERT_EQ(crc32c(7, &bytes[from], length), by_definition(7, &bytes[from], length)) << length;
    EXPECT_EQ(crc32c(crc32c(7, bytes.data(), length), &bytes[length], 4000),
              by_definition(7, bytes.data(), length + 4000));
  }
}

#if defined(__x86_64__)
// Whether something is left in the part of the vector registers that only VEX-encoded instructions know.
__attribute__((target("avx"))) bool upper_halves_in_use() {
  uint64_t registers[16][4];
#define PMIO_STORE(n) "vmovups %%ymm" #n ", 32*" #n "(%0)\n"
  asm volatile(PMIO_STORE(0) PMIO_STORE(1) PMIO_STORE(2) PMIO_STORE(3) PMIO_STORE(4) PMIO_STORE(5)
                   PMIO_STORE(6) PMIO_STORE(7) PMIO_STORE(8) PMIO_STORE(9) PMIO_STORE(10) PMIO_STORE(11)
                       PMIO_STORE(12) PMIO_STORE(13) PMIO_STORE(14) PMIO_STORE(15)
               :
               : "r"(registers)
               : "memory");
#undef PMIO_STORE
  return std::any_of(std::begin(registers), std::end(registers),
                     [](const uint64_t* words) { return (words[2] | words[3]) != 0; });
}

TEST(Checksum, LeavesNoUpperHalvesInUse) {
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP();
  const std::vector<unsigned char> bytes(5000, 0x5a);
  for (const size_t length : {size_t{8}, size_t{200}, size_t{1312}, bytes.size()}) {
    crc32c(7, bytes.data(), length);
    EXPECT_FALSE(upper_halves_in_use()) << length;
  }
}
#endif

TEST(RecordSeed, DiffersByIndexAndBySalt) {
  std::set<uint32_t> seeds;
  for (uint32_t i = 0; i < 100000; ++i) EXPECT_TRUE(seeds.insert(record_seed(42, i)).second);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_NE(record_seed(1, i), record_seed(2, i));
}

}  // namespace
}  // namespace pmio
