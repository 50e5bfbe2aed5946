#include "base/file_buffer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pmio {
namespace {

TEST(FileBufferTest, BytesLieAsFarIntoAPageAsInTheFile) {
  constexpr size_t kBytes = 10000, kPage = 4096;
  const FileBuffer buffer(kBytes);
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{4096}, uint64_t{123456789}, UINT64_MAX - kBytes}) {
    std::byte* const bytes = buffer.at(offset);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % kPage, offset % kPage);
    std::memset(bytes, 1, kBytes);  // AddressSanitizer looks on
  }
}

TEST(FileBufferTest, HasNoMemoryAtFirst) {
  EXPECT_FALSE(FileBuffer().has_memory());
  EXPECT_TRUE(FileBuffer(1).has_memory());
}

}  // namespace
}  // namespace pmio
