// Regions behave like memory, and the directory refuses what is not its owner's alone.
#include "medium/medium.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/checksum.h"

namespace pmio {
namespace {

namespace fs = std::filesystem;

// Once on a memory file system, once on whatever the temporary directory is on, with every durability.
struct Place {
  std::string parent;
  Durability durability;
};

class MediumTest : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    std::string path = GetParam().parent + "/pmio-medium-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) GTEST_SKIP() << "no " << GetParam().parent;
    root_ = path;
    directory_ = root_ + "/log";
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  std::unique_ptr<Medium> open() {
    auto medium = open_medium(directory_, GetParam().durability);
    EXPECT_TRUE(medium.ok()) << medium.status().message();
    return medium.ok() ? std::move(*medium) : nullptr;
  }
  std::string root_, directory_;
};

TEST_P(MediumTest, StoresAreSeenByOtherMappingsAndStay) {
  auto medium = open();
  auto region = medium->create("seg", 3 * 4096);
  ASSERT_TRUE(region.ok()) << region.status().message();
  for (size_t i = 0; i < 3 * 4096; ++i) ASSERT_EQ((*region)->data()[i], std::byte{0});
  auto other = medium->open("seg", true);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->size_bytes(), 3u * 4096);
  (*region)->copy(4090, "persistent", 10);
  EXPECT_EQ(0, std::memcmp((*other)->data() + 4090, "persistent", 10));
  (*region)->flush(4090, 10);
  (*region)->flush(0, 1);
  (*region)->flush(3 * 4096 - 1, 1);
  EXPECT_TRUE((*region)->fence().ok());
  EXPECT_TRUE((*region)->sync().ok());
  region->reset();
  EXPECT_EQ(0, std::memcmp((*medium->open("seg", false))->data() + 4090, "persistent", 10));
  struct stat facts;
  ASSERT_EQ(stat((directory_ + "/seg").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_P(MediumTest, CopyChecksummedIsCopyAndChecksum) {
  auto medium = open();
  constexpr size_t kBytes = 3 << 20;
  auto region = medium->create("seg", kBytes);
  ASSERT_TRUE(region.ok());
  std::vector<unsigned char> source(kBytes);
  for (size_t i = 0; i < kBytes; ++i) source[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  std::byte* data = (*region)->data();
  for (const size_t length : {0, 1, 7, 8, 63, 64, 65, 255, 256, 1000, 1312, 4096, 16383, 16385, 65536, 262143,
                              1 << 20, (2 << 20) + 77}) {
    for (const size_t offset : {0, 8, 40, 64, 4096 + 16}) {
      for (const size_t from : {0, 1, 13, 32}) {
        std::memset(data, 0xee, offset + length + 200);
        EXPECT_EQ((*region)->copy_checksummed(offset + 64, &source[from], length, 5),
                  crc32c(5, &source[from], length));
        EXPECT_EQ(0, std::memcmp(data + offset + 64, &source[from], length));
        EXPECT_EQ(data[offset + 63], std::byte{0xee});
        EXPECT_EQ(data[offset + 64 + length], std::byte{0xee});
      }
    }
  }
}

TEST_P(MediumTest, NamesAndErrors) {
  auto medium = open();
  ASSERT_TRUE(medium->create("b", 4096).ok());
  ASSERT_TRUE(medium->create("a", 4096).ok());
  const auto names = medium->list();
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names.value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(medium->create("a", 4096).status().system_errno(), EEXIST);
  EXPECT_EQ(medium->open("c", false).status().system_errno(), ENOENT);
  for (const char* name : {"", ".", "..", "x/y", "../x"}) {
    EXPECT_EQ(medium->create(name, 4096).status().code(), Code::invalid);
    EXPECT_EQ(medium->open(name, true).status().code(), Code::invalid);
    EXPECT_EQ(medium->remove(name).code(), Code::invalid);
  }
  EXPECT_EQ(medium->create("none", 0).status().code(), Code::invalid);
  EXPECT_TRUE(medium->remove("a").ok());
  EXPECT_TRUE(medium->remove("a").ok());
  EXPECT_EQ(medium->list().value(), std::vector<std::string>{"b"});
}

TEST_P(MediumTest, NoSpaceLeavesNoFile) {
  auto medium = open();
  const auto facts = probe_medium(directory_);
  ASSERT_TRUE(facts.ok());
  if (facts.value().file_system == "overlay" || facts.value().file_system == "btrfs") GTEST_SKIP();
  const auto region = medium->create("huge", (facts.value().free_bytes + (size_t{1} << 40)) / 4096 * 4096);
  EXPECT_EQ(region.status().code(), Code::no_space) << region.status().message();
  EXPECT_TRUE(medium->list().value().empty());
}

TEST_P(MediumTest, OnlyPrivateDirectoriesAndFiles) {
  open();
  fs::permissions(directory_, fs::perms(0750));
  const auto wide = open_medium(directory_, Durability::sync);
  EXPECT_EQ(wide.status().code(), Code::access);
  EXPECT_NE(wide.status().message().find("chmod 700"), std::string::npos) << wide.status().message();
  fs::permissions(directory_, fs::perms(0700));

  fs::create_directory_symlink(directory_, root_ + "/link");
  for (const char* name : {"/link", "/link/"})
    EXPECT_EQ(open_medium(root_ + name, Durability::sync).status().code(), Code::access);
  EXPECT_FALSE(open_medium(root_ + "/missing/log", Durability::sync).ok());
  EXPECT_FALSE(open_medium("", Durability::sync).ok());

  auto medium = open();
  std::ofstream(root_ + "/outside") << "outside";
  fs::create_symlink(root_ + "/outside", directory_ + "/planted");
  EXPECT_EQ(medium->open("planted", false).status().code(), Code::access);
  EXPECT_EQ(medium->create("planted", 4096).status().system_errno(), EEXIST);
  ASSERT_EQ(mkfifo((directory_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(medium->open("fifo", true).status().code(), Code::access);
  std::ofstream(directory_ + "/public") << "public";
  fs::permissions(directory_ + "/public", fs::perms(0644));
  EXPECT_EQ(medium->open("public", true).status().code(), Code::access);
  std::ofstream(directory_ + "/empty").flush();
  fs::permissions(directory_ + "/empty", fs::perms(0600));
  EXPECT_EQ(medium->open("empty", true).status().code(), Code::corrupt);
}

TEST_P(MediumTest, AnotherOwnersDirectoryIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  open();
  ASSERT_EQ(chown(directory_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(open_medium(directory_, Durability::sync).status().code(), Code::access);
}

TEST_P(MediumTest, PrefaultLosesNoConcurrentStore) {
  auto medium = open();
  constexpr size_t kBytes = 4 << 20;
  auto region = medium->create("seg", kBytes);
  ASSERT_TRUE(region.ok());
  std::thread toucher([&] {
    for (int i = 0; i < 20; ++i) Medium::prefault(**region, 0, kBytes);
  });
  for (size_t at = 0; at < kBytes; at += 64) (*region)->copy(at, &at, sizeof at);
  toucher.join();
  for (size_t at = 0; at < kBytes; at += 64)
    ASSERT_EQ(0, std::memcmp((*region)->data() + at, &at, sizeof at));
  Medium::prefault(**region, kBytes - 1, 100);
  Medium::prefault(**region, kBytes, 1);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, MediumTest,
                         testing::Values(Place{"/dev/shm", Durability::sync},
                                         Place{testing::TempDir(), Durability::always},
                                         Place{testing::TempDir(), Durability::sync},
                                         Place{testing::TempDir(), Durability::none}));

TEST(Probe, NamesTheFileSystem) {
  const auto facts = probe_medium("/dev/shm");
  if (!facts.ok()) GTEST_SKIP() << "no /dev/shm";
  EXPECT_EQ(facts.value().file_system, "tmpfs");
  EXPECT_EQ(facts.value().kind, MediumKind::tmpfs);
  EXPECT_FALSE(facts.value().map_sync);
  EXPECT_FALSE(probe_medium("/no/such/directory").ok());
  EXPECT_STREQ(medium_kind_name(MediumKind::dax), "dax");
}

TEST(Probe, TellsWhatMayOutliveAPowerFailure) {
  EXPECT_FALSE(may_outlive_power("/dev/shm/not/there/yet", Durability::always));
  const auto facts = probe_medium(testing::TempDir());
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  if (facts.value().kind != MediumKind::disk) GTEST_SKIP() << testing::TempDir() << " is on no disk";
  const std::string later = testing::TempDir() + "/not/there/yet";
  EXPECT_TRUE(may_outlive_power(later, Durability::sync));
  EXPECT_FALSE(may_outlive_power(later, Durability::none));
  EXPECT_TRUE(may_outlive_power("/proc/not-there", Durability::none)) << "no file can be made there to probe";
}

}  // namespace
}  // namespace pmio
