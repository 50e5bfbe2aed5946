#include "simulate/writing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/writing_phase.h"

namespace pmio {
namespace {

using namespace simulate;
using namespace test;

// A byte a second is the unit of everything, and nothing else costs anything.
Scenario round_scenario() {
  Scenario scenario;
  scenario.network.link_bytes_per_second = 1000;
  scenario.network.message_seconds = 0;
  scenario.storage = {
      .servers = 1, .bytes_per_second = 100, .request_seconds = 0, .lock_seconds = 0, .stripe_bytes = 100};
  return scenario;
}

Writer writer_of(uint64_t bytes, uint64_t request) {
  return {.bytes = bytes, .request_bytes = request, .stride = request};
}

TEST(WritingTest, OneServerServesEqualRequestsOneAfterTheOther) {
  Scenario scenario = round_scenario();
  scenario.storage.request_seconds = 0.5;
  // 10 requests of 1 s and 0.5 s, of two writers on different nodes: the link is hidden but for nothing.
  std::vector<Writer> writers(2, writer_of(500, 100));
  writers[1].node_class = 1;
  const WritingPhase phase = write_phase(scenario, writers);
  EXPECT_DOUBLE_EQ(phase.seconds, 15);
  EXPECT_EQ(phase.written, 1000u);
  EXPECT_DOUBLE_EQ(phase.work, 15);
}

TEST(WritingTest, AWriterAloneTakesTheSlowestStation) {
  Scenario scenario = round_scenario();
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(1000, 100)}).seconds, 10);  // the server
  scenario.network.link_bytes_per_second = 50;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(1000, 100)}).seconds, 20);  // the link
  scenario.network.core_bytes_per_second = 20;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(1000, 100)}).seconds, 50);  // the core
  scenario.network.message_seconds = 1;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(1000, 100)}).seconds,
                   60);  // and an answer to each request
}

TEST(WritingTest, StripesOfARequestAreWrittenAtOnce) {
  Scenario scenario = round_scenario();
  scenario.storage.servers = 4;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(400, 400)}).seconds, 1);
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(400, 100)}).seconds, 4);  // one after the other
  scenario.storage.servers = 2;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer_of(400, 400)}).seconds, 2);
}

TEST(WritingTest, ALockCostsWhereStripesAreShared) {
  Scenario scenario = round_scenario();
  scenario.storage.lock_seconds = 3;
  Writer writer = writer_of(400, 100);
  writer.shared = 0.5;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer}).seconds, 4 * (1 + 0.5 * 3));
}

TEST(WritingTest, RanksOfANodeShareItsLink) {
  Scenario scenario = round_scenario();
  scenario.network.link_bytes_per_second = 10;
  Writer writer = writer_of(100, 100);
  writer.alike = writer.on_node = 5;
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer}).seconds, 50);
  writer.on_node = 1;                                             // of five nodes
  EXPECT_DOUBLE_EQ(write_phase(scenario, {writer}).seconds, 10);  // the server writes while the links send
}

// Many writers keep all servers busy: the time is that of the work, but for the begin and the end.
TEST(WritingTest, ManyWritersReachTheRateOfAllServers) {
  Scenario scenario = round_scenario();
  scenario.storage.servers = 8;
  std::vector<Writer> writers;
  for (uint32_t at = 0; at < 64; at++) {
    Writer writer = writer_of(100 * 100, 100);
    writer.node_class = at;
    writer.first_byte = at * 100;
    writers.push_back(writer);
  }
  const WritingPhase phase = write_phase(scenario, writers);
  EXPECT_DOUBLE_EQ(phase.work, 64 * 100);
  EXPECT_GE(phase.seconds, phase.work / 8);
  EXPECT_LE(phase.seconds, 1.02 * phase.work / 8);
}

TEST(WritingTest, RequestsInARowAreAsGoodAsEachByItself) {
  Scenario scenario = round_scenario();
  scenario.storage.servers = 8;
  scenario.storage.request_seconds = 0.1;
  std::vector<Writer> writers;
  for (uint32_t at = 0; at < 32; at++) {
    Writer writer = writer_of(10000 * 100 + 37, 100);  // the last request is a short one
    writer.node_class = at;
    writer.first_byte = at * 100;
    writers.push_back(writer);
  }
  scenario.precision.steps = 20000;
  const WritingPhase each = write_phase(scenario, writers);
  scenario.precision.steps = 256;
  const WritingPhase in_a_row = write_phase(scenario, writers);
  EXPECT_EQ(each.written, in_a_row.written);
  EXPECT_EQ(each.written, 32 * (10000 * 100 + 37u));
  EXPECT_NEAR(each.work, in_a_row.work, 1e-6 * each.work);
  EXPECT_NEAR(each.seconds, in_a_row.seconds, 0.05 * each.seconds);
}

TEST(WritingTest, NothingToWriteIsOverAtOnce) {
  EXPECT_DOUBLE_EQ(write_phase(round_scenario(), {}).seconds, 0);
  EXPECT_DOUBLE_EQ(write_phase(round_scenario(), {writer_of(0, 100)}).seconds, 0);
}

}  // namespace
}  // namespace pmio
