// The main function of a layer's tests. `--source=NAME` runs the tests of NAME.cpp only: CTest starts a
// process for each source, whose environment, limits and children no other source's tests see.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kSource = "--source=";

// The tests of that source, as a filter of GoogleTest; empty if there is none.
std::string tests_of(std::string_view source) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); i++) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); j++) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::filesystem::path(test.file()).stem() != source) continue;
      filter += (filter.empty() ? "" : ":") + (std::string(suite.name()) + "." + test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 1) return RUN_ALL_TESTS();
  const std::string_view argument = argv[1];
  if (argc > 2 || !argument.starts_with(kSource)) {
    std::fprintf(stderr, "usage: %s [%sNAME] [GoogleTest's options]\n", argv[0], kSource.data());
    return 2;
  }
  if (testing::GTEST_FLAG(filter) == "*")
    testing::GTEST_FLAG(filter) = tests_of(argument.substr(kSource.size()));
  if (testing::GTEST_FLAG(filter).empty()) {
    std::fprintf(stderr, "%s: no test is of %s.cpp\n", argv[0], argument.substr(kSource.size()).data());
    return 1;
  }
  return RUN_ALL_TESTS();
}
