#include "medium/default_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace pmio {
namespace {

class DefaultDirectoryTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("PMIO_DIR"); }
};

TEST_F(DefaultDirectoryTest, TakesAnAbsolutePathWithoutTrailingSlashes) {
  setenv("PMIO_DIR", "/mnt/pmem/logs//", 1);
  EXPECT_EQ(default_directory(), "/mnt/pmem/logs");
}

TEST_F(DefaultDirectoryTest, RelativeAndEmptyPathsHaveNoEffect) {
  unsetenv("PMIO_DIR");
  const std::string unset = default_directory();
  for (const char* given : {"", "logs", "./logs"}) {
    setenv("PMIO_DIR", given, 1);
    EXPECT_EQ(default_directory(), unset) << given;
  }
}

}  // namespace
}  // namespace pmio
