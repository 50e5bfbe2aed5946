#include "node/remote_syncs.h"

#include <gtest/gtest.h>

#include <memory>

namespace pmio {
namespace {

struct RemoteSyncsTest : testing::Test {
  void learn(std::initializer_list<RemoteSyncs::Count> answers) {
    known->learn({answers.begin(), answers.size()});
  }
  std::unique_ptr<RemoteSyncs> known{new RemoteSyncs()};
};

TEST_F(RemoteSyncsTest, NewsAreAChangeOnce) {
  learn({});
  EXPECT_EQ(known->changes(), 0u);
  learn({{3, 10}});
  const uint64_t first = known->changes();
  EXPECT_GT(first, 0u);
  learn({{3, 10}});
  learn({{3, 9}});
  EXPECT_EQ(known->changes(), first);
  learn({{3, 11}});
  EXPECT_GT(known->changes(), first);
}

// Of two ranks that ask at the same time, each may be told of what the other one is not.
TEST_F(RemoteSyncsTest, AnswersThatAddUpToTheSameAreTwoChanges) {
  learn({{1, 10}});
  const uint64_t first = known->changes();
  learn({{2, 10}});
  EXPECT_GT(known->changes(), first);
}

TEST_F(RemoteSyncsTest, MoreNodesThanItKeeps) {
  const uint32_t far = RemoteSyncs::kMostNodes;
  learn({{far, 10}});
  const uint64_t first = known->changes();
  learn({{far + 1, 5}});
  EXPECT_GT(known->changes(), first);
  const uint64_t second = known->changes();
  learn({{far, 10}, {0, 1}});
  EXPECT_GT(known->changes(), second);
}

}  // namespace
}  // namespace pmio
