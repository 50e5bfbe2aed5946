// In which order a node writes its windows, and in how many streams.
#include "cluster/window_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pmio::test {
namespace {

TEST(WindowOrder, AllNodesTogetherHaveAsManyStreamsAsServers) {
  EXPECT_EQ(streams_of_node(1, 4), 1u);
  EXPECT_EQ(streams_of_node(4, 4), 1u);
  EXPECT_EQ(streams_of_node(12, 4), 3u);
  EXPECT_EQ(streams_of_node(13, 4), 4u);
  EXPECT_EQ(streams_of_node(64, 2), kMostStreams);
}

TEST(WindowOrder, StaysAsItIsWithOneServer) {
  const std::vector<WindowPlace> windows(5);
  EXPECT_EQ(window_order(windows, 1, 1, 2), (std::vector<size_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(window_order({}, 3, 0, 2).empty());
}

TEST(WindowOrder, ServersTakeTurnsFromTheNodesFirstOn) {
  const std::vector<WindowPlace> windows{{0}, {0}, {1}, {1}, {2}, {2}, {3}, {3}};
  EXPECT_EQ(window_order(windows, 4, 0, 2), (std::vector<size_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(window_order(windows, 4, 1, 2), (std::vector<size_t>{4, 6, 0, 2, 5, 7, 1, 3}));
}

TEST(WindowOrder, AServerWithMoreHasTheRestToItself) {
  const std::vector<WindowPlace> windows{{0}, {0}, {0}, {1}};
  EXPECT_EQ(window_order(windows, 2, 0, 1), (std::vector<size_t>{0, 3, 1, 2}));
}

TEST(WindowOrder, WholeWindowsComeFirst) {
  const std::vector<WindowPlace> windows{{0, false}, {0, true}, {1, false}, {1, true}, {0, true}};
  EXPECT_EQ(window_order(windows, 2, 0, 1), (std::vector<size_t>{1, 3, 4, 0, 2}));
}

}  // namespace
}  // namespace pmio::test
