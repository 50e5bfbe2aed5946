#include "simulate/round_costs.h"

#include <gtest/gtest.h>

#include "cluster/cluster.h"
#include "cluster/message.h"
#include "cluster/plan.h"
#include "cluster/window_order.h"
#include "drain/run.h"
#include "span/node_round.h"

namespace pmio {
namespace {

using namespace simulate;

Scenario scenario_of(uint64_t nodes, uint64_t ranks_per_node, uint64_t record_bytes) {
  Scenario scenario;
  scenario.job.nodes = nodes;
  scenario.job.ranks_per_node = ranks_per_node;
  scenario.job.record_bytes = record_bytes;
  scenario.job.records = 1000;
  return scenario;
}

// What the code reserves and sends today. If one of these fails, so has round_costs.cpp to change.
TEST(RoundCostsTest, DescriptorsAreThoseOfTheCode) {
  for (const uint64_t nodes : {2u, 64u, 10000u})
    for (const uint64_t ranks : {1u, 32u, 128u}) {
      const auto most = Cluster::connections(nodes * ranks, ranks, nodes, true);
      EXPECT_DOUBLE_EQ(descriptors_of_leader({.nodes = nodes, .ranks_per_node = ranks}),
                       static_cast<double>(most.to_others + most.from_others));
    }
}

TEST(RoundCostsTest, StreamsAreThoseOfTheCode) {
  for (const uint32_t servers : {1u, 7u, 64u, 450u})
    for (const uint32_t nodes : {1u, 2u, 8u, 63u, 1000u})
      EXPECT_EQ(simulate::streams_of_node(uint64_t{servers}, uint64_t{nodes}),
                pmio::streams_of_node(servers, nodes));
}

TEST(RoundCostsTest, MessagesAreThoseOfTheCode) {
  static_assert(kWindow == kWindowBytes);
  static_assert(NodeRound::kMostIntervals == 64);
  static_assert(kMostStreams == 8);
  static_assert(sizeof(PollAnswer) == 32 && sizeof(PlanBody) == 24 && sizeof(PlanAnswer) == 16);
  static_assert(sizeof(WriteBody) + sizeof(uint64_t) == 32 && sizeof(EndBody) == 16 &&
                sizeof(Interval) == 16);
  static_assert(sizeof(ChangedBody) == 56);
}

// A plan's work messages, as RoundPlan writes them for windows that all nodes have bytes of.
TEST(RoundCostsTest, MixedWindowsAreTold) {
  constexpr uint32_t kNodes = 3;
  constexpr uint64_t kWindows = 5;
  RoundPlan plan(kNodes);
  for (uint32_t node = 0; node < kNodes; node++) {
    MessageWriter answer;
    answer.put(PlanAnswer{0, kWindows});
    for (uint64_t window = 0; window < kWindows; window++) {
      const Interval span{window * kWindowBytes + node, (window + 1) * kWindowBytes - kNodes + node};
      answer.put(window).put_list(std::span<const Interval>(&span, 1));
    }
    ASSERT_TRUE(plan.read(node, answer.bytes()).ok());
  }
  ASSERT_TRUE(plan.arrange().ok());
  double told = 0;
  for (const MessageWriter& message : plan.work(1, 1)) told += static_cast<double>(message.bytes().size());
  // 1,312 bytes of 4 ranks: a node has 266 pieces of a window.
  const Scenario scenario = scenario_of(kNodes, 4, 1312);
  const RoundShape shape = round_shape(scenario, kWindows * kWindow / kNodes);
  EXPECT_TRUE(shape.mixed);
  EXPECT_DOUBLE_EQ(shape.windows, kWindows);
  EXPECT_DOUBLE_EQ(shape.parts, kWindows * kNodes);
  // Less what poll and plan take, and the frames.
  const double others = kNodes * (2 * (16 + 8) + 16.0 + sizeof(PlanBody));
  EXPECT_DOUBLE_EQ(before_writing(scenario, shape).sent_bytes - others, told);
}

TEST(RoundCostsTest, ManyNodesHaveAPieceOfAWindowEach) {
  const Scenario scenario = scenario_of(1000, 32, 65536);  // 2 MiB of a node in a call
  const RoundShape shape = round_shape(scenario, 1000 * 2097152.0);
  EXPECT_FALSE(shape.mixed);
  EXPECT_DOUBLE_EQ(shape.request_bytes, 2097152);
  EXPECT_DOUBLE_EQ(shape.parts, 1000 * 1000);
  EXPECT_DOUBLE_EQ(shape.windows, 1000 * 1000 / 2);
  EXPECT_DOUBLE_EQ(shape.shared, 0);
  EXPECT_GT(round_shape(scenario_of(1000, 2, 1312), 1e6).shared, 0.9);  // small pieces of shared stripes
}

// docs/simulate.md: 56 bytes for each window, to each node.
TEST(RoundCostsTest, TheEndOfARoundGrowsWithTheSquareOfTheNodes) {
  const auto sent = [](uint64_t nodes) {
    const Scenario scenario = scenario_of(nodes, 32, 65536);
    return after_writing(scenario, round_shape(scenario, 1e9)).sent_bytes;
  };
  EXPECT_NEAR(sent(10000) / sent(1000), 100, 1);
}

TEST(RoundCostsTest, OneNodeAsksNobody) {
  EXPECT_DOUBLE_EQ(question_seconds(scenario_of(1, 32, 1312)), 0);
  EXPECT_DOUBLE_EQ(descriptors_of_leader({.nodes = 1}), 0);
  EXPECT_DOUBLE_EQ(questions_of_leader({.nodes = 64, .ranks_per_node = 128}), 63 * 128);
}

}  // namespace
}  // namespace pmio
