#include "medium/default_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

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

TEST_F(DefaultDirectoryTest, ExpandsUserHostAndVariables) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  setenv("PMIO_TEST_JOB", "17", 1);
  EXPECT_EQ(expand_directory("/mnt/%h/a%%b").value(), std::string("/mnt/") + host + "/a%b");
  EXPECT_EQ(expand_directory("/mnt/job-$PMIO_TEST_JOB.0/${PMIO_TEST_JOB}x/").value(), "/mnt/job-17.0/17x");
  EXPECT_EQ(expand_directory("$PMIO_TEST_JOB").status().code(), Code::invalid);
  EXPECT_GT(expand_directory("/%u").value().size(), 1u);
  setenv("PMIO_DIR", "/mnt/$PMIO_TEST_JOB", 1);
  EXPECT_EQ(default_directory(), "/mnt/17");
  unsetenv("PMIO_TEST_JOB");
}

TEST_F(DefaultDirectoryTest, SaysWhatItCannotExpandAndTakesTheDefault) {
  const std::string unset = default_directory();
  EXPECT_NE(expand_directory("/x/$PMIO_TEST_UNSET").status().message().find("PMIO_TEST_UNSET"),
            std::string::npos);
  for (const char* given : {"/x/$PMIO_TEST_UNSET", "/x/${HOME", "/x/%q", "/x/%", "/x/$", "/x/$/y"}) {
    EXPECT_EQ(expand_directory(given).status().code(), Code::invalid) << given;
    setenv("PMIO_DIR", given, 1);
    EXPECT_EQ(default_directory(), unset) << given;
  }
}

}  // namespace
}  // namespace pmio
