// What a tmpfs with huge pages gives to a log, and that its small files take none. The mounts need root.
#include "medium/huge_pages.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "job/pool.h"
#include "medium/medium.h"

namespace pmio {
namespace {

constexpr char kNever[] = "always within_size advise [never] deny force\n";

TEST(HugePages, AreWhatTheMountSays) {
  EXPECT_EQ(huge_pages("rw,relatime,size=24684084k", kNever), HugePages::none);
  EXPECT_EQ(huge_pages("rw,huge=always,size=1k", kNever), HugePages::always);
  EXPECT_EQ(huge_pages("rw,huge=within_size", kNever), HugePages::within_size);
  EXPECT_EQ(huge_pages("huge=advise,rw", kNever), HugePages::advise);
  EXPECT_EQ(huge_pages("rw,huge=never", kNever), HugePages::none);
  EXPECT_EQ(huge_pages("rw", "[always] within_size advise never deny force\n"), HugePages::none);
}

TEST(HugePages, OfAllMountsCanBeDeniedOrForced) {
  EXPECT_EQ(huge_pages("rw,huge=always", "always within_size advise never [deny] force\n"), HugePages::none);
  EXPECT_EQ(huge_pages("rw", "always within_size advise never deny [force]\n"), HugePages::always);
}

// A tmpfs that this process alone sees.
class HugeMountTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/pmio-huge-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    root_ = path;
    const std::string options = std::string("mode=700,size=64m,huge=") + GetParam();
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("pmio", path.c_str(), "tmpfs", 0, options.c_str()) != 0)
      GTEST_SKIP() << "no tmpfs with " << options << ": " << std::strerror(errno);
    is_mounted_ = true;
    auto medium = open_medium(root_ + "/log", Durability::none);
    ASSERT_TRUE(medium.ok()) << medium.status().message();
    medium_ = std::move(*medium);
  }
  void TearDown() override {
    medium_ = nullptr;
    if (is_mounted_) umount2(root_.c_str(), MNT_DETACH);
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  uint64_t taken(const char* name) const {
    struct stat facts {};
    EXPECT_EQ(stat((root_ + "/log/" + name).c_str(), &facts), 0);
    return static_cast<uint64_t>(facts.st_blocks) * 512;
  }
  // Of this region's mapping, by huge pages.
  static uint64_t mapped_huge(const Region& region) {
    std::ifstream maps("/proc/self/smaps");
    char start[32];
    std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(region.data()));
    bool in_region = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.starts_with(start)) in_region = true;
      if (in_region && line.starts_with("ShmemPmdMapped:")) return std::stoul(line.substr(15)) << 10;
    }
    return 0;
  }
  std::string root_;
  bool is_mounted_ = false;
  std::unique_ptr<Medium> medium_;
};

TEST_P(HugeMountTest, LargeRegionsConsistOfThem) {
  EXPECT_EQ(medium_->huge_page_bytes(), kHugePageBytes);
  EXPECT_STREQ(huge_pages_name(probe_medium(root_)->huge), GetParam());
  auto region = medium_->create("seg", 3 * kHugePageBytes);
  ASSERT_TRUE(region.ok()) << region.status().message();
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*region)->data()) % kHugePageBytes, 0u);
  EXPECT_EQ(taken("seg"), 3 * kHugePageBytes);
  Medium::prefault(**region, 0, (*region)->size_bytes());
  EXPECT_EQ(mapped_huge(**region), 3 * kHugePageBytes);
  // Given back, and had again.
  ASSERT_TRUE(medium_->vacate("seg").ok());
  EXPECT_EQ(taken("seg"), 0u);
  ASSERT_TRUE(medium_->reserve("seg").ok());
  EXPECT_EQ(taken("seg"), 3 * kHugePageBytes);
  Medium::prefault(**region, 0, (*region)->size_bytes());
  EXPECT_EQ(mapped_huge(**region), 3 * kHugePageBytes);
}

TEST_P(HugeMountTest, SmallRegionsTakeNoMoreThanTheirSize) {
  for (const size_t bytes : {size_t{4096}, size_t{100} << 10, kHugePageBytes - 4096}) {
    ASSERT_TRUE(medium_->create("small", bytes).ok());
    EXPECT_EQ(taken("small"), bytes);
    ASSERT_TRUE(medium_->remove("small").ok());
  }
}

TEST_P(HugeMountTest, AFullMountIsAnErrorAndNoSignal) {
  EXPECT_EQ(medium_->create("seg", 80 << 20).status().code(), Code::no_space);
  size_t made = 0;
  while (medium_->create("seg-" + std::to_string(made), 2 * kHugePageBytes).ok()) made++;
  EXPECT_GT(made, 0u);
  EXPECT_LE(made, 16u);
}

TEST_P(HugeMountTest, SegmentsAreWholeHugePages) {
  SegmentPool pool(*medium_, 0, 40 << 20);
  EXPECT_EQ(pool.segment_bytes() % kHugePageBytes, 0u);
  ASSERT_TRUE(pool.require_one().ok());
  EXPECT_EQ(taken("seg-0-0"), kHugePageBytes);
}

INSTANTIATE_TEST_SUITE_P(Mounts, HugeMountTest, testing::Values("always", "within_size", "advise"));

TEST(HugePages, DecideTheSizeOfSegments) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(SegmentPool::choose_segment_bytes(1024 * kMiB, UINT64_MAX, kHugePageBytes), 16 * kMiB);
  EXPECT_EQ(SegmentPool::choose_segment_bytes(410 * kMiB, UINT64_MAX, kHugePageBytes), 6 * kMiB);
  EXPECT_EQ(SegmentPool::choose_segment_bytes(26 * kMiB, UINT64_MAX, kHugePageBytes), 2 * kMiB);
  EXPECT_EQ(SegmentPool::choose_segment_bytes(8 * kMiB, UINT64_MAX, kHugePageBytes),
            SegmentPool::choose_segment_bytes(8 * kMiB));
  EXPECT_EQ(SegmentPool::choose_segment_bytes(1024 * kMiB, kMiB, kHugePageBytes), kMiB);
}

}  // namespace
}  // namespace pmio
