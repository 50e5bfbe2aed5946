#include "node/shared_pointer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace pmio {
namespace {

class SharedPointerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pmio-shared-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/shared";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  std::string directory_, path_;
};

TEST_F(SharedPointerTest, ProcessesShareOneValue) {
  constexpr int kProcesses = 4, kRounds = 500;
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() == 0) {
      SharedPointer pointer(path_);
      for (int round = 0; round < kRounds; ++round) {
        if (!pointer.fetch_add(0, 10, 3).ok()) _exit(1);
      }
      _exit(0);
    }
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  SharedPointer pointer(path_);
  EXPECT_EQ(pointer.fetch_add(0, 0, 0).value(), 10 + kProcesses * kRounds * 3);
}

TEST_F(SharedPointerTest, ANewEpochStartsAgainAndTheOldOneStays) {
  SharedPointer ahead(path_), behind(path_);
  EXPECT_EQ(ahead.fetch_add(0, 0, 5).value(), 0);
  EXPECT_EQ(ahead.fetch_add(1, 0, 7).value(), 0);
  EXPECT_EQ(behind.fetch_add(0, 0, 1).value(), 5);
  EXPECT_EQ(behind.fetch_add(1, 0, 1).value(), 7);
}

TEST_F(SharedPointerTest, StoreSets) {
  SharedPointer pointer(path_);
  ASSERT_TRUE(pointer.store(2, 42).ok());
  EXPECT_EQ(pointer.fetch_add(2, 0, 0).value(), 42);
}

TEST_F(SharedPointerTest, SaysWhyItCannotBeCreated) {
  SharedPointer pointer(directory_ + "/missing/shared");
  const Result<int64_t> value = pointer.fetch_add(0, 0, 1);
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.status().message().find("/missing/shared"), std::string::npos);
}

}  // namespace
}  // namespace pmio
