// copy_bytes: every length around its limits, from and to every place in a line; what lies beside is not
// touched.
#include "base/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace pmio {
namespace {

constexpr size_t kMargin = 64;

std::byte pattern(size_t i) { return static_cast<std::byte>(i * 167 + (i >> 8) * 13 + 1); }

void expect_copied(size_t length, size_t from_at, size_t to_at) {
  std::vector<std::byte> from(kMargin + length + kMargin), to(from.size() + kMargin, std::byte{0});
  for (size_t i = 0; i < from.size(); ++i) from[i] = pattern(i);
  copy_bytes(to.data() + to_at, from.data() + from_at, length);
  ASSERT_EQ(std::memcmp(to.data() + to_at, from.data() + from_at, length), 0) << length;
  for (size_t i = 0; i < to.size(); ++i)
    if (i < to_at || i >= to_at + length) {
      ASSERT_EQ(to[i], std::byte{0}) << i << " of " << length;
    }
}

TEST(Copy, EveryLengthOfSomeLines) {
  for (size_t length = 0; length <= 400; ++length) expect_copied(length, length % 7, length % 13);
}

TEST(Copy, EveryPlaceInALine) {
  for (const size_t length : {63, 64, 65, 127, 128, 1312})
    for (size_t from = 0; from < kMargin; ++from)
      for (size_t to = 0; to < kMargin; to += 3) expect_copied(length, from, to);
}

TEST(Copy, LongOnes) {
  for (const size_t length : {size_t{16} << 10, (size_t{16} << 10) + 1, size_t{1} << 20})
    for (size_t off = 0; off < 3; ++off) expect_copied(length - off, off, 2 * off);
}

// Those for which `rep movs` is slow, and their neighbours.
TEST(Copy, LongOnesALittleBehindAPage) {
  constexpr size_t kPage = 4096, kLength = 20000;
  std::vector<std::byte> from(kLength + 2 * kPage), to(from.size() + kPage);
  for (size_t i = 0; i < from.size(); ++i) from[i] = pattern(i);
  const size_t aligned = -reinterpret_cast<uintptr_t>(to.data()) + reinterpret_cast<uintptr_t>(from.data());
  for (size_t behind = 0; behind < 70; ++behind) {
    std::byte* const begin = to.data() + 1 + aligned % kPage + behind;
    const std::byte before = begin[-1], after = begin[kLength];
    copy_bytes(begin, from.data() + kPage, kLength);
    ASSERT_EQ(std::memcmp(begin, from.data() + kPage, kLength), 0) << behind;
    ASSERT_EQ(begin[-1], before);
    ASSERT_EQ(begin[kLength], after);
  }
}

}  // namespace
}  // namespace pmio
