// The registry trusts nothing that somebody else may have put where it is.
#include "medium/registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pmio {
namespace {

class RegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/pmio-registry-XXXXXX";
    root = mkdtemp(pattern);
    setenv("PMIO_REGISTRY", root.c_str(), 1);
    own = root + "/pmio-jobs-" + std::to_string(geteuid());
  }
  void TearDown() override {
    unsetenv("PMIO_REGISTRY");
    std::filesystem::remove_all(root);
  }
  std::string root, own;
};

TEST_F(RegistryTest, EntriesComeAndGo) {
  EXPECT_EQ(Registry::find().status().system_errno(), ENOENT);
  auto registry = Registry::create();
  ASSERT_TRUE(registry.ok()) << registry.status().message();
  EXPECT_TRUE(registry->add(0x17, "/logs", true).ok());
  EXPECT_TRUE(registry->add(0x17, "/elsewhere", false).ok());  // the first one counts
  auto entries = Registry::find()->list();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).job, 0x17u);
  EXPECT_EQ(entries->at(0).log_directory, "/logs");
  EXPECT_EQ(registered_users(), std::vector<uid_t>{geteuid()});
  EXPECT_TRUE(registry->remove(0x17).ok());
  EXPECT_TRUE(registry->remove(0x17).ok());
  EXPECT_TRUE(registry->list()->empty());
}

TEST_F(RegistryTest, WhatIsNotAnEntryIsLeftOut) {
  auto registry = Registry::create();
  ASSERT_TRUE(registry.ok());
  std::ofstream(own + "/job-1") << "/torn";
  std::ofstream(own + "/job-2") << "relative\n";
  std::ofstream(own + "/job-3") << "/two\n/lines\n";
  std::ofstream(own + "/job-xyz") << "/name\n";
  std::ofstream(own + "/job-4") << std::string(10000, '/') << "\n";
  std::filesystem::create_symlink("/etc/passwd", own + "/job-5");
  ASSERT_EQ(mkfifo((own + "/job-6").c_str(), 0600), 0);
  EXPECT_TRUE(registry->list()->empty());
}

TEST_F(RegistryTest, ForeignDirectoriesAreNotUsed) {
  std::filesystem::create_directory(root + "/real");
  std::filesystem::create_directory_symlink(root + "/real", own);
  EXPECT_EQ(Registry::create().status().code(), Code::access);
  EXPECT_TRUE(registered_users().empty());
  std::filesystem::remove(own);
  std::filesystem::create_directory(own);
  ASSERT_EQ(chmod(own.c_str(), 0777), 0);
  EXPECT_EQ(Registry::create().status().code(), Code::access);
  std::filesystem::create_directory(root + "/pmio-jobs-" + std::to_string(geteuid() + 1));
  EXPECT_EQ(registered_users(), std::vector<uid_t>{geteuid()});
}

}  // namespace
}  // namespace pmio
