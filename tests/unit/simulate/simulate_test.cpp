#include "simulate/simulate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulate/collective.h"
#include "simulate/risk.h"

namespace pmio {
namespace {

using namespace simulate;

constexpr Way kWays[] = {Way::two_phase, Way::independent, Way::log};

// Nothing costs anything but the bytes, at rates that make results exact.
Scenario round_scenario() {
  Scenario scenario;
  scenario.job = {.nodes = 4,
                  .ranks_per_node = 2,
                  .record_bytes = 100,
                  .records = 10,
                  .checkpoints = 3,
                  .compute_seconds = 1000};
  scenario.network = {.link_bytes_per_second = 1e6,
                      .message_seconds = 0,
                      .rank_message_seconds = 0,
                      .leader_message_seconds = 0,
                      .leader_bytes_per_second = 1e12};
  scenario.storage = {
      .servers = 1, .bytes_per_second = 100, .request_seconds = 0, .lock_seconds = 0, .stripe_bytes = 100};
  scenario.copies = {.call_seconds = 0, .copy_bytes_per_second = 1e12, .window_bytes = 100};
  scenario.log.medium = {.warm_bytes_per_second = 1000,
                         .cold_bytes_per_second = 1000,
                         .capacity_bytes = 1e6,
                         .record_bytes = 0,
                         .append_record_seconds = 0,
                         .merge_record_seconds = 0,
                         .drain_record_seconds = 0,
                         .call_seconds = 0};
  return scenario;
}

TEST(SimulateTest, EveryByteIsWrittenOnce) {
  for (const Layout layout : {Layout::strided, Layout::segments})
    for (const uint64_t nodes : {1u, 3u, 10u, 257u, 1000u, 4099u})
      for (const uint64_t record : {7u, 1312u, 65536u, 3000001u}) {
        Scenario scenario;
        scenario.job.nodes = nodes;
        scenario.job.ranks_per_node = 5;
        scenario.job.record_bytes = record;
        scenario.job.records = 33;
        scenario.job.checkpoints = 2;
        scenario.job.layout = layout;
        scenario.log.medium.capacity_bytes = 4e8;
        ASSERT_TRUE(check(scenario).ok());
        for (const Way way : kWays)
          EXPECT_EQ(simulate::simulate(scenario, way).written_bytes, 2 * scenario.job.bytes())
              << name_of(way) << ' ' << nodes << ' ' << record;
      }
}

TEST(SimulateTest, OneServerTakesTheBytesOverItsRate) {
  const Scenario scenario = round_scenario();  // 8,000 bytes a checkpoint
  for (const Way way : {Way::two_phase, Way::independent}) {
    const Outcome outcome = simulate::simulate(scenario, way);
    EXPECT_NEAR(outcome.to_log_seconds(), 80, 0.1) << name_of(way);
    EXPECT_NEAR(outcome.to_file_seconds(), 80, 0.1) << name_of(way);
    EXPECT_NEAR(outcome.seconds, 3 * 1080, 0.5) << name_of(way);
    EXPECT_NEAR(outcome.utilisation(), 80 / 1080.0, 0.001) << name_of(way);
  }
}

TEST(SimulateTest, TheLogTakesACopyAndDrainsBehindIt) {
  const Scenario scenario = round_scenario();
  const Outcome outcome = simulate::simulate(scenario, Way::log);
  EXPECT_NEAR(outcome.to_log_seconds(), 2, 1e-9);  // 2,000 bytes of a node
  EXPECT_NEAR(outcome.to_file_seconds(), 82, 0.1);
  EXPECT_NEAR(outcome.seconds, 3 * 1002 + 80, 0.1);
  EXPECT_DOUBLE_EQ(outcome.most_held_bytes, 2000);
  EXPECT_EQ(outcome.rounds.count, 3u);
  EXPECT_DOUBLE_EQ(outcome.log_wait_seconds, 0);
}

TEST(SimulateTest, ACloseThatWaits) {
  Scenario scenario = round_scenario();
  scenario.log.close_waits = true;
  const Outcome outcome = simulate::simulate(scenario, Way::log);
  EXPECT_NEAR(outcome.to_log_seconds(), 82, 0.1);
  EXPECT_NEAR(outcome.seconds, 3 * 1082, 0.3);
}

// If the servers cannot keep up, the log fills, and in the end the program is as fast as they are.
TEST(SimulateTest, AFullLogMakesTheProgramWait) {
  Scenario scenario = round_scenario();
  scenario.job.checkpoints = 20;
  scenario.job.compute_seconds = 10;
  scenario.log.medium.capacity_bytes = 5000;
  const Outcome outcome = simulate::simulate(scenario, Way::log);
  EXPECT_NEAR(outcome.seconds, 20 * 80, 0.05 * 20 * 80);
  EXPECT_LE(outcome.most_held_bytes, 5000);
  EXPECT_GT(outcome.log_wait_seconds, 20 * 80 - 20 * 12 - 5000 * 4 / 100 - 80);
  EXPECT_EQ(outcome.written_bytes, 20 * scenario.job.bytes());
}

TEST(SimulateTest, ALogSmallerThanACheckpoint) {
  Scenario scenario = round_scenario();
  scenario.log.medium.capacity_bytes = 100;
  for (const double record_bytes : {0.0, 64.0}) {
    scenario.log.medium.record_bytes = record_bytes;
    const Outcome outcome = simulate::simulate(scenario, Way::log);
    EXPECT_EQ(outcome.checkpoints.size(), 3u);
    EXPECT_EQ(outcome.written_bytes, 3 * scenario.job.bytes());
    EXPECT_LE(outcome.most_held_bytes, 100);
  }
}

TEST(SimulateTest, AColdLogIsColdOnce) {
  Scenario scenario = round_scenario();
  scenario.log.medium.cold_bytes_per_second = 500;
  const Outcome outcome = simulate::simulate(scenario, Way::log);
  EXPECT_NEAR(outcome.checkpoints[0].written - outcome.checkpoints[0].begun, 4, 1e-9);
  EXPECT_NEAR(outcome.checkpoints[1].written - outcome.checkpoints[1].begun, 2, 1e-9);
}

TEST(SimulateTest, ExchangesOfACollectiveWrite) {
  Scenario scenario = round_scenario();
  scenario.job.nodes = 8;
  scenario.network.message_seconds = 1;
  // 1,600 bytes a call: 16 windows, two of each node.
  EXPECT_EQ(call_shape(scenario).aggregators, 8u);
  EXPECT_NEAR(exchange_seconds(scenario), 3 + 2, 0.01);
  scenario.collective.aggregators = 2;
  EXPECT_NEAR(exchange_seconds(scenario), 3 + 8, 0.01);
  scenario.collective.exchange = Exchange::ranks;
  scenario.network.rank_message_seconds = 0.5;
  EXPECT_NEAR(exchange_seconds(scenario), 4 + 16 * 0.5 + 8 + 8 * 0.5,
              0.01);  // a window has one rank's record
}

// Classes of equal nodes are an approximation of each node by itself, if they are twice as many as servers.
TEST(SimulateTest, ClassesOfNodesAreNearToEachNode) {
  Scenario scenario;
  scenario.job.nodes = 500;
  scenario.job.ranks_per_node = 4;
  scenario.job.records = 64;
  scenario.job.checkpoints = 2;
  scenario.precision = {.classes = 500, .flows = 2000, .steps = 1024, .calls = 64};
  Scenario classes = scenario;
  classes.precision = {.classes = 128, .flows = 256, .steps = 64, .calls = 16};
  for (const Way way : kWays) {
    const Outcome each = simulate::simulate(scenario, way), some = simulate::simulate(classes, way);
    EXPECT_NEAR(each.to_log_seconds(), some.to_log_seconds(), 0.1 * each.to_log_seconds()) << name_of(way);
    EXPECT_NEAR(each.to_file_seconds(), some.to_file_seconds(), 0.1 * each.to_file_seconds()) << name_of(way);
    EXPECT_NEAR(each.server_work_seconds, some.server_work_seconds, 1e-6 * each.server_work_seconds);
  }
}

TEST(SimulateTest, TheSameScenarioGivesTheSame) {
  const Scenario scenario;
  for (const Way way : kWays) {
    const Outcome one = simulate::simulate(scenario, way), other = simulate::simulate(scenario, way);
    EXPECT_EQ(one.seconds, other.seconds);
    EXPECT_EQ(one.server_work_seconds, other.server_work_seconds);
    EXPECT_EQ(one.events, other.events);
    EXPECT_EQ(risk_of(scenario, one).drawn_held_bytes, risk_of(scenario, other).drawn_held_bytes);
  }
}

TEST(SimulateTest, AHundredThousandNodesTakeFewEvents) {
  Scenario scenario;
  scenario.job.nodes = 100000;
  scenario.job.ranks_per_node = 128;
  ASSERT_TRUE(check(scenario).ok());
  for (const Way way : kWays) EXPECT_LT(simulate::simulate(scenario, way).events, 10000000u) << name_of(way);
}

TEST(RiskTest, MeansAndDrawsAgree) {
  Scenario scenario = round_scenario();
  scenario.failures = {.node_mtbf_seconds = 1e6, .seed = 5};
  const Outcome outcome = simulate::simulate(scenario, Way::log);
  const Risk risk = risk_of(scenario, outcome);
  EXPECT_DOUBLE_EQ(risk.failures, 4 * outcome.seconds / 1e6);
  // Three times 2,000 bytes for the 80 s of a drain, and 1,000 on average for the 2 s of writing.
  EXPECT_NEAR(risk.held_bytes, 3 * (2000 * 80 + 1000 * 2) / outcome.seconds, 3);
  EXPECT_DOUBLE_EQ(risk.lost_bytes, risk.failures * risk.held_bytes);
  EXPECT_NEAR(risk.drawn_held_bytes, risk.held_bytes, 0.1 * risk.held_bytes);
  EXPECT_NEAR(risk.drawn_repeated_seconds, risk.repeated_seconds, 0.03 * risk.repeated_seconds);
  scenario.failures.seed = 6;
  EXPECT_NE(risk_of(scenario, outcome).drawn_held_bytes, risk.drawn_held_bytes);
}

TEST(RiskTest, ADurableLogLosesNothing) {
  Scenario scenario = round_scenario();
  const Outcome outcome = simulate::simulate(scenario, Way::log);
  const double repeated = risk_of(scenario, outcome).repeated_seconds;
  scenario.log.durable = true;
  const Risk risk = risk_of(scenario, outcome);
  EXPECT_DOUBLE_EQ(risk.lost_bytes, 0);
  EXPECT_LT(risk.repeated_seconds, repeated);
}

TEST(RiskTest, WithoutALogNothingAcknowledgedIsAtRisk) {
  const Scenario scenario = round_scenario();
  const Risk risk = risk_of(scenario, simulate::simulate(scenario, Way::independent));
  EXPECT_DOUBLE_EQ(risk.held_bytes, 0);
  // Checkpoints every 1,080 s, each of the state 80 s before: a state is between 80 and 1,160 s old. Until
  // the first one is there, it is the begin of the run.
  EXPECT_NEAR(risk.repeated_seconds, (540 * 1080 + 2 * 620 * 1080) / 3240.0, 1);
}

TEST(CheckTest, SaysWhatIsOutOfItsRange) {
  Scenario scenario;
  scenario.job.nodes = 0;
  EXPECT_NE(check(scenario).message().find("nodes is 0"), std::string::npos);
  scenario.job.nodes = 10;
  scenario.collective.aggregators = 11;
  EXPECT_NE(check(scenario).message().find("aggregators"), std::string::npos);
  scenario.collective.aggregators = 0;
  scenario.storage.bytes_per_second = NAN;
  EXPECT_NE(check(scenario).message().find("rate of a server"), std::string::npos);
  scenario = {};
  scenario.log.medium.capacity_bytes = 1;
  EXPECT_NE(check(scenario).message().find("capacity"), std::string::npos);
  scenario = {};
  scenario.job.record_bytes = scenario.job.records = 1000000000000;
  EXPECT_NE(check(scenario).message().find("size of a checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace pmio
