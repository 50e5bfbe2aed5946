// The log of a rank that another one cannot map: an error, never a wrong byte, never a record that counts as
// drained and is not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "node/file.h"
#include "support/bytes.h"

namespace pmio {
namespace {

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/pmio-damage-XXXXXX";
    root = mkdtemp(pattern);
    std::ofstream(root + "/file").flush();
    std::filesystem::create_directory(root + "/logs");
    std::filesystem::permissions(root + "/logs", std::filesystem::perms::owner_all);
    setenv("PMIO_REGISTRY", root.c_str(), 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
      JobOptions options;
      options.directory = root + "/logs";
      options.id =
          static_cast<uint64_t>(getpid()) << 32 | 7;  // no other process's, which would share an index
      options.rank = rank;
      options.ranks = 2;
      options.capacity_bytes = 1 << 20;
      options.background = false;
      jobs[rank] = std::move(Job::join(options)).value();
      Job::OpenOptions open;
      open.path = root + "/file";
      files[rank] = *jobs[rank]->open(open);
      const std::string text(100, static_cast<char>('a' + rank));
      EXPECT_TRUE(
          files[rank]->append(rank * 100, reinterpret_cast<const std::byte*>(text.data()), 100, 0).ok());
    }
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::string root;
  std::unique_ptr<Job> jobs[2];
  std::shared_ptr<File> files[2];
};

TEST_F(Damage, SegmentThatCannotBeMapped) {
  const std::string segment = jobs[0]->directory() + "/seg-1-0";
  std::filesystem::rename(segment, root + "/elsewhere");
  std::byte found[200];
  uint64_t got = 0;
  EXPECT_EQ(files[0]->read(0, found, sizeof found, &got).code(), Code::io);
  EXPECT_EQ(files[0]->drain().code(), Code::io);
  std::filesystem::rename(root + "/elsewhere", segment);
  ASSERT_TRUE(files[0]->drain().ok());
  EXPECT_EQ(contents<std::string>(root + "/file"), std::string(100, 'a') + std::string(100, 'b'));
  for (auto& each : files) EXPECT_TRUE(each->closing().release().ok());
}

}  // namespace
}  // namespace pmio
