#include "stats/counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace pmio {
namespace {

namespace fs = std::filesystem;

class StatisticsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "pmio-stats-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string directory_;
};

RunFacts facts_of(uint64_t job) { return {job, 2, 4, "app \xff\"x\"", "MPICH", "/log", "tmpfs"}; }

TEST_F(StatisticsTest, WhatIsCountedIsWritten) {
  Counters counters;
  count(counters.append_calls);
  count(counters.append_bytes, uint64_t{1} << 60);
  ASSERT_TRUE(write_statistics(directory_, facts_of(0xabc), counters, {}, {}).ok());
  count(counters.append_calls);
  ASSERT_TRUE(write_statistics(directory_, facts_of(0xabc), counters, {}, {}).ok());  // again: replaces
  std::ifstream file(directory_ + "/stats-0000000000000abc/rank-2.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\"append_calls\": 2,"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("\"append_bytes\": 1152921504606846976,"), std::string::npos);
  EXPECT_NE(text.str().find("\"segments_recycled\": 0"), std::string::npos);
  EXPECT_NE(text.str().find("\"job\": \"0000000000000abc\""), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ + "/stats-0000000000000abc"), {}), 1);
}

TEST_F(StatisticsTest, OnlyTheNewest16JobsAreKept) {
  const Counters counters;
  fs::create_directory(directory_ + "/job-1");
  fs::create_directory_symlink("/", directory_ + "/stats-link");
  for (uint64_t job = 100; job > 70; --job) {
    ASSERT_TRUE(write_statistics(directory_, facts_of(job), counters, {}, {}).ok());
    char name[64];
    std::snprintf(name, sizeof name, "/stats-%016llx", static_cast<unsigned long long>(job));
    const timespec when[2] = {{0, 0}, {static_cast<time_t>(1000 - job), 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (directory_ + name).c_str(), when, 0), 0);
  }
  ASSERT_TRUE(write_statistics(directory_, facts_of(70), counters, {}, {}).ok());
  size_t kept = 0;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    const std::string name = entry.path().filename();
    if (name == "job-1" || name == "stats-link") continue;
    ++kept;
    EXPECT_LE(std::stoull(name.substr(6), nullptr, 16), 85u) << name;
  }
  EXPECT_EQ(kept, 16u);
  EXPECT_TRUE(fs::exists(directory_ + "/job-1"));
  EXPECT_TRUE(fs::exists("/usr"));
}

TEST_F(StatisticsTest, ErrorsAreTold) {
  const Counters counters;
  EXPECT_FALSE(write_statistics(directory_ + "/missing", facts_of(1), counters, {}, {}).ok());
  fs::create_directory_symlink("/", directory_ + "/stats-0000000000000001");
  EXPECT_FALSE(write_statistics(directory_, facts_of(1), counters, {}, {}).ok());
}

}  // namespace
}  // namespace pmio
