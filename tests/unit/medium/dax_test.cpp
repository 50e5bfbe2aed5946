// The DAX region on memory that libpmem2 is told to take for persistent memory (PMEM2_FORCE_GRANULARITY), so
// that its copies, flushes and drains run where there is no such hardware. What survives a power cut this
// cannot show.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "log/segment.h"
#include "medium/directory.h"
#include "medium/pmem2.h"
#include "medium/regions.h"

namespace pmio {
namespace {

class DaxFile {
 public:
  explicit DaxFile(size_t bytes) : bytes_(bytes) {
    char path[] = "/dev/shm/pmio-dax-test-XXXXXX";
    fd_ = FileDescriptor(mkstemp(path));
    unlink(path);
    EXPECT_EQ(ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
  }
  Result<std::unique_ptr<Region>> map(bool read_only = false) const {
    return map_dax(fd_.get(), bytes_, read_only);
  }

 private:
  FileDescriptor fd_;
  size_t bytes_;
};

class Dax : public testing::Test {
 protected:
  void SetUp() override { setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 1); }
  void TearDown() override { unsetenv("PMEM2_FORCE_GRANULARITY"); }
};

TEST_F(Dax, CopiesAreSeenThroughAnotherMapping) {
  const DaxFile file(1 << 20);
  auto writer = file.map(), reader = file.map(true);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ((*writer)->size_bytes(), size_t{1} << 20);
  std::vector<std::byte> data(100000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37);
  for (const size_t length : {size_t{1}, size_t{8}, size_t{63}, size_t{1312}, data.size()}) {
    const size_t at = 4096 + length;
    const uint32_t crc = (*writer)->copy_checksummed(at, data.data(), length, 0);
    EXPECT_EQ(crc, crc32c(0, data.data(), length));
    (*writer)->flush(at, length);
    EXPECT_TRUE((*writer)->fence().ok());
    EXPECT_TRUE((*writer)->sync().ok());
    EXPECT_EQ(std::memcmp((*reader)->data() + at, data.data(), length), 0);
  }
}

TEST_F(Dax, HoldsASegment) {
  const DaxFile file(kMinSegmentBytes);
  const std::string text = "bytes that were acknowledged";
  {
    auto region = file.map();
    ASSERT_TRUE(region.ok()) << region.status().message();
    auto writer = SegmentWriter::format(**region, {7, 0, 0, 1, {}, "/a/file"});
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    for (uint64_t i = 0; i < 100; ++i) {
      writer->append({static_cast<int64_t>(i * 100), text.size(), 0, 1},
                     reinterpret_cast<const std::byte*>(text.data()), i, 0, true);
      ASSERT_TRUE(writer->fence().ok());
    }
  }
  auto region = file.map(true);
  ASSERT_TRUE(region.ok());
  auto reader = SegmentReader::open({(*region)->data(), (*region)->size_bytes()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader->count_valid(), 100u);
  EXPECT_EQ(std::memcmp(reader->data(reader->record(99)), text.data(), text.size()), 0);
}

TEST(DaxRefused, WhereTheMemoryIsNotPersistent) {
  const DaxFile file(1 << 20);
  const auto region = file.map();
  ASSERT_FALSE(region.ok());
  EXPECT_NE(region.status().message().find("persistent memory"), std::string::npos);
}

TEST(Pmem2, IsOfTheFirstFileThatThereIs) {
  constexpr const char* kFiles[] = {"libpmio-no-such-library.so.1", "libpmem2.so.1"};
  const auto pmem2 = load_pmem2(kFiles);
  ASSERT_TRUE(pmem2.ok()) << pmem2.status().message();
  EXPECT_NE(pmem2.value().map_new, nullptr);
}

TEST(Pmem2, WhereItIsMissingTheErrorSaysWhatToInstall) {
  constexpr const char* kFiles[] = {"libpmio-no-such-library.so.1", "/no/such/directory/libpmem2.so.1"};
  const auto pmem2 = load_pmem2(kFiles);
  ASSERT_EQ(pmem2.status().code(), Code::unsupported);
  for (const char* part : {"libpmio-no-such-library.so.1", "install", "libpmem2-1", "PMIO_DIR"})
    EXPECT_NE(pmem2.status().message().find(part), std::string::npos) << pmem2.status().message();
}

TEST(Pmem2, AnotherLibraryIsNotTakenForIt) {
  constexpr const char* kFiles[] = {"libc.so.6"};
  const auto pmem2 = load_pmem2(kFiles);
  ASSERT_EQ(pmem2.status().code(), Code::unsupported);
  EXPECT_NE(pmem2.status().message().find("has no pmem2_"), std::string::npos) << pmem2.status().message();
}

}  // namespace
}  // namespace pmio
