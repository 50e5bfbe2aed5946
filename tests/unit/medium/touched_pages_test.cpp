// Pages of a log are touched ahead of who fills it from both ends, and those alone.
#include "medium/touched_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace pmio {
namespace {

constexpr size_t kPage = 4096, kBytes = 4 << 20;

class TouchedPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/dev/shm/pmio-touched-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) GTEST_SKIP() << "no /dev/shm";
    root_ = path;
    auto medium = open_medium(root_ + "/log", Durability::none);
    ASSERT_TRUE(medium.ok()) << medium.status().message();
    medium_ = std::move(*medium);
    if (medium_->huge_page_bytes() != 0) GTEST_SKIP() << "/dev/shm has huge pages";
    auto region = medium_->create("seg", kBytes);
    ASSERT_TRUE(region.ok()) << region.status().message();
    region_ = std::move(*region);
  }
  void TearDown() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  // Those that this process has mapped (proc(5), pagemap).
  std::vector<bool> touched() const {
    std::vector<uint64_t> entries(kBytes / kPage);
    std::ifstream map("/proc/self/pagemap", std::ios::binary);
    map.seekg(static_cast<std::streamoff>(reinterpret_cast<uintptr_t>(region_->data()) / kPage *
                                          sizeof entries[0]));
    map.read(reinterpret_cast<char*>(entries.data()),
             static_cast<std::streamsize>(entries.size() * sizeof entries[0]));
    EXPECT_TRUE(map.good());
    std::vector<bool> pages(entries.size());
    std::transform(entries.begin(), entries.end(), pages.begin(),
                   [](uint64_t entry) { return entry >> 63 != 0; });
    return pages;
  }
  size_t count() const {
    const auto pages = touched();
    return static_cast<size_t>(std::count(pages.begin(), pages.end(), true));
  }
  std::string root_;
  std::unique_ptr<Medium> medium_;
  std::unique_ptr<Region> region_;
};

TEST_F(TouchedPagesTest, NothingIsTouchedBeforeItIsAskedFor) {
  const TouchedPages pages(kBytes);
  EXPECT_FALSE(pages.all());
  EXPECT_EQ(count(), 0u);
  EXPECT_TRUE(TouchedPages().all());
}

TEST_F(TouchedPagesTest, AheadOfTheFrontTheMoreTheMoreWasThere) {
  TouchedPages pages(kBytes);
  EXPECT_TRUE(pages.lacks_front(100));
  pages.touch_front(*region_, 100);
  EXPECT_FALSE(pages.lacks_front(100));
  const size_t first = count();
  EXPECT_GE(first, 1u);
  EXPECT_LE(first, 16u);
  for (size_t end = 0; end < kBytes / 2; end += kPage)
    if (pages.lacks_front(end)) pages.touch_front(*region_, end);
  const auto touched_now = touched();
  EXPECT_TRUE(
      std::all_of(touched_now.begin(), touched_now.begin() + kBytes / 2 / kPage, [](bool p) { return p; }));
  EXPECT_LE(count(), kBytes / 2 / kPage + (512 << 10) / kPage);
  EXPECT_FALSE(touched_now.back());
}

TEST_F(TouchedPagesTest, AheadOfTheBackDownwards) {
  TouchedPages pages(kBytes);
  for (size_t begin = kBytes; begin > kBytes / 2; begin -= 64)
    if (pages.lacks_back(begin - 64)) pages.touch_back(*region_, begin - 64);
  const auto touched_now = touched();
  EXPECT_TRUE(
      std::all_of(touched_now.begin() + kBytes / 2 / kPage, touched_now.end(), [](bool p) { return p; }));
  EXPECT_FALSE(touched_now.front());
}

TEST_F(TouchedPagesTest, BothEndsMeet) {
  TouchedPages pages(kBytes);
  size_t end = 0, begin = kBytes;
  for (; end < begin; end += 3 * kPage, begin -= kPage) {
    if (pages.lacks_front(end)) pages.touch_front(*region_, end);
    if (pages.lacks_back(begin - 64)) pages.touch_back(*region_, begin - 64);
  }
  EXPECT_TRUE(pages.all());
  EXPECT_EQ(count(), kBytes / kPage);
  EXPECT_FALSE(pages.lacks_front(kBytes));
  EXPECT_FALSE(pages.lacks_back(0));
  pages.set_none(kBytes);
  EXPECT_TRUE(pages.lacks_front(1));
}

TEST_F(TouchedPagesTest, StepsFromTheFrontEndWithTheRegion) {
  TouchedPages pages(kBytes);
  for (int step = 0; !pages.all(); step++) {
    ASSERT_LT(step, 5);
    pages.touch_more(*region_, 1 << 20);
  }
  EXPECT_EQ(count(), kBytes / kPage);
}

}  // namespace
}  // namespace pmio
