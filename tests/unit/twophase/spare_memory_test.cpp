#include "twophase/spare_memory.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

constexpr SpareMemory::Kind kKind{2, 100};

std::shared_ptr<std::byte> memory() { return {new std::byte[100], std::default_delete<std::byte[]>()}; }

TEST(SpareMemory, IsThereForTheNextFileOfItsKind) {
  SpareMemory spares;
  std::byte* first = nullptr;
  {
    auto held = spares.returning(7, kKind, memory());
    first = held.get();
    EXPECT_EQ(spares.newest(kKind), SpareMemory::kNone) << "it is in use";
  }
  EXPECT_EQ(spares.newest(kKind), 7);
  EXPECT_EQ(spares.newest({3, 100}), SpareMemory::kNone);
  EXPECT_EQ(spares.newest({2, 101}), SpareMemory::kNone);
  EXPECT_EQ(spares.take(8, kKind), nullptr);
  EXPECT_EQ(spares.take(7, {3, 100}), nullptr);
  EXPECT_EQ(spares.take(7, kKind).get(), first);  // and let go at once
  EXPECT_EQ(spares.take(7, kKind).get(), first);
}

TEST(SpareMemory, OneFileHasItAtATime) {
  SpareMemory spares;
  spares.returning(7, kKind, memory()).reset();
  const auto held = spares.take(7, kKind);
  EXPECT_NE(held, nullptr);
  EXPECT_EQ(spares.take(7, kKind), nullptr);
  EXPECT_EQ(spares.newest(kKind), SpareMemory::kNone);
}

TEST(SpareMemory, TheOldestIsGivenBack) {
  SpareMemory spares;
  std::weak_ptr<std::byte> oldest;
  for (int64_t number = 0; number <= static_cast<int64_t>(SpareMemory::kMostKept); ++number) {
    auto bytes = memory();
    if (number == 0) oldest = bytes;
    spares.returning(number, kKind, std::move(bytes)).reset();
    EXPECT_EQ(spares.newest(kKind), number);
  }
  EXPECT_TRUE(oldest.expired());
  EXPECT_EQ(spares.take(0, kKind), nullptr);
  EXPECT_NE(spares.take(1, kKind), nullptr);
}

}  // namespace
}  // namespace pmio
