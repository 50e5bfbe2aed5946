#include "cli/profile/profile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/profile/place.h"

namespace pmio::cli {
namespace {

Profile small_profile() {
  Profile profile;
  profile.machine = {"a processor", 4, uint64_t{8} << 30};
  profile.log = {"tmpfs", "tmpfs", "2026-11-26T12:00:00Z", {}};
  profile.log.figures["warm_bytes_per_second"] = {2e9, 1e9, 3e9, 9};
  profile.log.figures["call_seconds"] = {77, 77, 77, 0};
  profile.exchange = {"2026-11-26T12:00:00Z", "an MPI", 2, 1, {}};
  FileSystemProfile file;
  file.place = {"ext4", "/data"};
  file.date = "2026-11-26T12:00:00Z";
  file.writers = 2;
  file.rates = {{4096, {1e9, 1e9, 1e9, 9}}, {65536, {2e9, 1e9, 3e9, 9}}};
  profile.file_systems.push_back(file);
  return profile;
}

// The text of small_profile() with a part of it replaced.
std::string changed(const std::string& part, const std::string& by) {
  std::string text = profile_text(small_profile());
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

std::string refusal(const std::string& text) {
  const auto profile = parse_profile(text);
  EXPECT_FALSE(profile.ok()) << text;
  return profile.status().message();
}

TEST(ProfileTest, WhatIsWrittenIsRead) {
  Profile profile = small_profile();
  complete(profile);
  const std::string text = profile_text(profile);
  auto read = parse_profile(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(profile_text(read.value()), text);
  EXPECT_EQ(read->log.figures.size(), log_figures().size());
}

TEST(ProfileTest, MeasuredFiguresReplaceTheBuiltInOnes) {
  const Profile profile = small_profile();
  const model::Machine built_in;
  model::Machine machine = machine_of(profile, nullptr);
  EXPECT_EQ(machine.log.warm_bytes_per_second, 2e9);
  EXPECT_EQ(machine.log.call_seconds, built_in.log.call_seconds);
  EXPECT_EQ(machine.file.rates.size(), built_in.file.rates.size());
  EXPECT_EQ(profile.find({"xfs", "/data"}), nullptr);
  machine = machine_of(profile, profile.find({"ext4", "/data"}));
  ASSERT_EQ(machine.file.rates.size(), 2U);
  EXPECT_EQ(machine.file.rates[1].bytes_per_second, 2e9);
}

TEST(ProfileTest, AnotherVersionIsRefused) {
  const auto profile = parse_profile(changed("\"version\": 1", "\"version\": 2"));
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.status().code(), Code::unsupported);
  EXPECT_NE(profile.status().message().find("version 2"), std::string::npos);
}

TEST(ProfileTest, BadInputIsRefusedByName) {
  for (const char* text : {"", "{", "[]", "null", "{}", "1e999", "{\"format\": 1}"}) refusal(text);
  EXPECT_NE(refusal(changed("2000000000.0", "-1.0")).find("warm_bytes_per_second.value is out of range"),
            std::string::npos);
  for (const char* number : {"NaN", "1e999", "\"2\"", "null", "1e300", "[]", "0.0"})
    refusal(changed("2000000000.0", number));
  EXPECT_NE(refusal(changed("\"processors\": 4", "\"processors\": 4.5")).find("profile.machine.processors"),
            std::string::npos);
  refusal(changed("\"processors\": 4", "\"processors\": 0"));
  refusal(changed("\"measured\"", "\"guessed\""));
  refusal(changed("\"warm_bytes_per_second\"", "\"lukewarm_bytes_per_second\""));
  refusal(changed("\"samples\": 9", "\"samples\": 0"));
  refusal(changed("1000000000.0", "2500000000.0"));  // a lower quartile above the median
  refusal(changed("\"block_bytes\": 65536.0", "\"block_bytes\": 4096.0"));
  refusal(changed("a processor", "\\u001b[2J"));
  refusal(changed("\"ext4\"", "7"));
  refusal(changed("\"rates\": [", "\"rates\": [], \"others\": ["));
}

TEST(ProfileTest, EveryCutIsRefused) {
  const std::string text = profile_text(small_profile());
  for (size_t length = 0; length + 2 < text.size(); length++) refusal(text.substr(0, length));
}

TEST(ProfileTest, AFileSystemIsThereOnce) {
  Profile profile = small_profile();
  profile.file_systems.push_back(profile.file_systems.front());
  EXPECT_NE(refusal(profile_text(profile)).find("there twice"), std::string::npos);
}

TEST(ProfileTest, MisfitsAreToldAndSmallDifferencesOfMemoryAreNot) {
  const MachineFacts then{"a processor", 4, uint64_t{8} << 30};
  EXPECT_TRUE(misfits(then, then).empty());
  EXPECT_TRUE(misfits(then, {"a processor", 4, (uint64_t{8} << 30) - 4096}).empty());
  EXPECT_EQ(joined(misfits(then, {"another", 2, uint64_t{8} << 30})),
            "processor: a processor then, another now; processors: 4 then, 2 now");
  EXPECT_EQ(misfits(then, {"a processor", 4, uint64_t{4} << 30}).size(), 1U);
}

class ProfileFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    setenv("XDG_CONFIG_HOME", directory_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(directory_);
  }
  std::string directory_ = testing::TempDir() + "/pmio-profile-XXXXXX";
};

TEST_F(ProfileFileTest, IsSavedWhereItIsFound) {
  const std::string path = user_profile_path();
  EXPECT_EQ(path, directory_ + "/pmio/profile.json");
  ASSERT_TRUE(save_profile(small_profile(), path).ok());
  auto found = find_profile();
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->path, path);
  // No other file is left.
  const std::filesystem::directory_iterator files(directory_ + "/pmio");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(ProfileFileTest, ABadOneIsNamedAndNotSkipped) {
  const std::string path = user_profile_path();
  ASSERT_TRUE(save_profile(small_profile(), path).ok());
  std::ofstream(path) << "{}";
  auto found = find_profile();
  ASSERT_FALSE(found.ok());
  EXPECT_TRUE(found.status().message().starts_with(path)) << found.status().message();
  std::ofstream(path) << std::string(2 << 20, ' ');
  EXPECT_NE(load_profile(path).status().message().find("too large"), std::string::npos);
  EXPECT_FALSE(load_profile(directory_).ok());
}

TEST_F(ProfileFileTest, AnErrorLeavesTheOldOne) {
  const std::string path = directory_ + "/profile.json";
  std::filesystem::create_directories(path + "/in-the-way");
  EXPECT_FALSE(save_profile(small_profile(), path).ok());
  const std::filesystem::directory_iterator files(directory_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(ProfileFileTest, APlaceIsAMountPoint) {
  auto place = place_of("/proc/self");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->mount_point, "/proc");
  EXPECT_FALSE(place_of(directory_ + "/none").ok());
}

}  // namespace
}  // namespace pmio::cli
