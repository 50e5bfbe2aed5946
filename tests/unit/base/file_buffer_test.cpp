#include "base/file_buffer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pmio {
namespace {

TEST(FileBufferTest, BytesLieAsFarIntoAPageAsInTheFile) {
  constexpr size_t kBytes = 10000, kPage = 4096;
  FileBuffer buffer(kBytes);
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{4096}, uint64_t{123456789}, UINT64_MAX - kBytes}) {
    std::byte* const bytes = buffer.at(offset);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % kPage, offset % kPage);
    std::memset(bytes, 1, kBytes);  // AddressSanitizer looks on
  }
}

TEST(FileBufferTest, HasMemoryWhileItIsUsed) {
  FileBuffer buffer(1);
  EXPECT_FALSE(buffer.has_memory());
  buffer.at(0);
  EXPECT_TRUE(buffer.has_memory());
  buffer.release();
  EXPECT_FALSE(buffer.has_memory());
}

}  // namespace
}  // namespace pmio
