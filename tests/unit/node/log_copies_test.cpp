// Copies of segments of several sizes, made by one process and found by another.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "log/format.h"
#include "node/log_copies.h"

namespace pmio {
namespace {

class Memory final : public Region {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    data_ = bytes_.data();
    size_ = bytes;
  }
  void copy(size_t offset, const void* source, size_t length) override {
    std::memcpy(data_ + offset, source, length);
  }
  void flush(size_t, size_t) override {}
  Status fence() override { return {}; }
  Status sync() override { return {}; }

  // As a segment has them: records downwards from its end, their data upwards behind the header.
  void fill(char with, uint32_t records, size_t each) {
    std::memset(data_, with, kHeaderBytes);
    auto* last = reinterpret_cast<LogRecord*>(data_ + size_) - 1;
    for (uint32_t i = 0; i < records; i++) {
      const size_t at = kHeaderBytes + i * each;
      last[-static_cast<ptrdiff_t>(i)].data_position = static_cast<uint32_t>(at / kDataAlignment);
      last[-static_cast<ptrdiff_t>(i)].length = each;
      std::memset(data_ + at, with, each);
    }
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(LogCopies, SegmentsOfSeveralSizes) {
  constexpr uint32_t kRecords = 10;
  constexpr size_t kEach = 4096;
  Memory small(256 << 10), large(1 << 20), third(512 << 10);
  const std::pair<uint32_t, Memory*> all[] = {{0, &small}, {1, &large}, {5, &third}};
  LogCopies copies;
  for (const auto& [slot, memory] : all) {
    memory->fill(static_cast<char>('a' + slot), kRecords, kEach);
    ASSERT_TRUE(copies.add(slot, 100 + slot, *memory, 2, kRecords).ok());
  }
  const auto found = FoundCopies::open(getpid(), copies.descriptor());
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (const auto& [slot, memory] : all) {
    EXPECT_TRUE(found.value()->has(slot, 100 + slot, kRecords));
    EXPECT_FALSE(found.value()->has(slot, 100 + slot, kRecords + 1));
    EXPECT_FALSE(found.value()->has(slot, 99, 1));
    const auto region = found.value()->map(slot);
    ASSERT_TRUE(region.ok()) << region.status().message();
    const Region& copy = *region.value();
    ASSERT_EQ(copy.size_bytes(), memory->size_bytes());
    EXPECT_EQ(std::memcmp(copy.data(), memory->data(), kHeaderBytes), 0);
    const size_t begin = kHeaderBytes + 2 * kEach, bytes = (kRecords - 2) * kEach;
    EXPECT_EQ(std::memcmp(copy.data() + begin, memory->data() + begin, bytes), 0) << slot;
    const size_t records = copy.size_bytes() - kRecords * sizeof(LogRecord);
    EXPECT_EQ(
        std::memcmp(copy.data() + records, memory->data() + records, (kRecords - 2) * sizeof(LogRecord)), 0);
  }
  EXPECT_FALSE(found.value()->map(2).ok());
}

}  // namespace
}  // namespace pmio
