#include "model/ways.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pmio {
namespace {

using namespace model;

// Figures that make results exact: a byte a second is the unit of everything.
Machine round_machine() {
  Machine machine;
  machine.log = {.warm_bytes_per_second = 1000,
                 .cold_bytes_per_second = 500,
                 .capacity_bytes = 1000,
                 .warm_bytes = 0,
                 .record_bytes = 0,
                 .append_record_seconds = 0,
                 .merge_record_seconds = 0,
                 .drain_record_seconds = 0,
                 .drain_piece_seconds = 0,
                 .call_seconds = 0,
                 .pause_seconds = 1,
                 .drain_from_fraction = 0.5,
                 .file_seconds = 0};
  machine.file = {.rates = {{10, 10}, {1000, 100}},
                  .sieved_bytes_per_second = 80,
                  .sieved_piece_seconds = 0,
                  .drain_block_bytes = 1000};
  machine.exchange = {.call_seconds = 3,
                      .copy_bytes_per_second = 1000,
                      .copy_piece_seconds = 0,
                      .message_seconds = 0.5,
                      .window_bytes = 1000};
  return machine;
}

TEST(WaysTest, RatesBetweenAndBeyondTheMeasuredBlocks) {
  const FileSystem file = round_machine().file;
  EXPECT_DOUBLE_EQ(block_rate(file, 10), 10);
  EXPECT_DOUBLE_EQ(block_rate(file, 1000), 100);
  EXPECT_NEAR(block_rate(file, 100), 31.62, 0.01);  // half way by the logarithm
  EXPECT_DOUBLE_EQ(5 / block_rate(file, 5), 10 / block_rate(file, 10));
  EXPECT_DOUBLE_EQ(block_rate(file, 1e6), 100);
}

TEST(WaysTest, TheBuiltInRatesRiseWithTheBlock) {
  const FileSystem file{};
  for (int power = 0; power < 27; power++) {
    const double block = std::exp2(power);
    EXPECT_LE(block_rate(file, block), block_rate(file, block * 2)) << block;
  }
}

TEST(WaysTest, LinksAndServersBoundTheFile) {
  FileSystem file = round_machine().file;
  EXPECT_DOUBLE_EQ(file_seconds(file, 4, 1000, 1000), 10);  // each node by itself
  file.link_bytes_per_second = 50;
  EXPECT_DOUBLE_EQ(file_seconds(file, 4, 1000, 1000), 20);
  file.servers = 2;
  file.server_bytes_per_second = 40;
  EXPECT_DOUBLE_EQ(file_seconds(file, 4, 1000, 1000), 50);  // 4,000 bytes to two servers
  EXPECT_DOUBLE_EQ(file_seconds(file, 1, 1000, 1000), 20);
}

TEST(WaysTest, AColdLogIsColdOnce) {
  Machine machine = round_machine();
  const Transfer transfer{.ranks = 2, .call_bytes = 100, .calls = 2};
  EXPECT_DOUBLE_EQ(log_times(machine, transfer).to_log_seconds, 400.0 / 500);
  machine.log.warm_bytes = 100;
  EXPECT_DOUBLE_EQ(log_times(machine, transfer).to_log_seconds, 100.0 / 1000 + 300.0 / 500);
  machine.log.warm_bytes = 1000;
  EXPECT_DOUBLE_EQ(log_times(machine, transfer).to_log_seconds, 400.0 / 1000);
  EXPECT_DOUBLE_EQ(log_times(machine, transfer).to_file_seconds, 400.0 / 1000 + 400.0 / 100);
}

TEST(WaysTest, IrregularPiecesHaveARecordEach) {
  Machine machine = round_machine();
  machine.log.warm_bytes = 1000;
  machine.log.append_record_seconds = 1;
  machine.log.merge_record_seconds = 0.25;
  machine.log.drain_record_seconds = 0.5;
  machine.log.drain_piece_seconds = 0.125;
  Transfer transfer{.ranks = 2, .call_bytes = 100, .pieces_per_call = 8};
  EXPECT_DOUBLE_EQ(log_times(machine, transfer).to_log_seconds, 1 + 0.2);
  EXPECT_DOUBLE_EQ(drain_seconds(machine, transfer), 2 * (0.25 + 0.5 + 7 * 0.125) + 2);
  transfer.regular = false;
  EXPECT_DOUBLE_EQ(log_times(machine, transfer).to_log_seconds, 8 + 0.2);
  EXPECT_DOUBLE_EQ(drain_seconds(machine, transfer), 2 * 8 * (0.25 + 0.5) + 2);
}

TEST(WaysTest, RecordsTakeRoomInTheLog) {
  LogMedium log = round_machine().log;
  log.record_bytes = 64;
  const Transfer transfer{.ranks = 2, .call_bytes = 100, .pieces_per_call = 3, .regular = false};
  EXPECT_DOUBLE_EQ(backlog(log, transfer, 0, 1).bytes, 2 * (100 + 3 * 64));
}

TEST(WaysTest, NothingIsDrainedBehindShortPauses) {
  const LogMedium log = round_machine().log;
  const Backlog held = backlog(log, {.call_bytes = 100, .calls = 5, .compute_seconds = 1}, 0.5, 100);
  EXPECT_DOUBLE_EQ(held.bytes, 500);
  EXPECT_DOUBLE_EQ(held.wait_seconds, 0);
}

TEST(WaysTest, LongPausesHideTheDrain) {
  const LogMedium log = round_machine().log;
  // 2 s less 1 s that the background thread waits for: all of a call is drained before the next.
  const Backlog held = backlog(log, {.call_bytes = 100, .calls = 1000, .compute_seconds = 2}, 0.5, 100);
  EXPECT_DOUBLE_EQ(held.bytes, 100);
  EXPECT_DOUBLE_EQ(held.wait_seconds, 0);
  // At half of that rate, half of a call is left each time.
  EXPECT_DOUBLE_EQ(backlog(log, {.call_bytes = 100, .calls = 5, .compute_seconds = 2}, 0.5, 50).bytes, 300);
}

TEST(WaysTest, AHalfFullLogIsDrainedWhileTheProgramWrites) {
  const LogMedium log = round_machine().log;
  const Backlog held = backlog(log, {.call_bytes = 100, .calls = 1000}, 1, 100);
  EXPECT_DOUBLE_EQ(held.bytes, 500);
  EXPECT_DOUBLE_EQ(held.wait_seconds, 0);
}

TEST(WaysTest, AFullLogMakesWritersWaitForTheDrain) {
  const LogMedium log = round_machine().log;
  // Calls of 1 s bring 100 bytes, of which 60 stay: 5 calls to the half, 500/60 more until it is full.
  const Transfer transfer{.call_bytes = 100, .calls = 105};
  const Backlog held = backlog(log, transfer, 1, 40);
  EXPECT_DOUBLE_EQ(held.bytes, 1000);
  EXPECT_NEAR(held.wait_seconds, (100 * 60 - 500) / 40.0, 1e-9);
  // So all of it: what was logged is drained or still there.
  const double drained = 40 * (100 * 1 + held.wait_seconds);
  EXPECT_NEAR(drained + held.bytes, 105 * 100, 1e-9);
}

TEST(WaysTest, OneCallMayBeLargerThanTheLog) {
  const LogMedium log = round_machine().log;
  const Backlog held = backlog(log, {.call_bytes = 3000}, 1, 100);
  EXPECT_DOUBLE_EQ(held.bytes, 1000);
  EXPECT_DOUBLE_EQ(held.wait_seconds, 20);
}

TEST(WaysTest, IndependentWritesTakeThePiecesRate) {
  const Machine machine = round_machine();
  const Times times = independent_times(machine, {.ranks = 2, .call_bytes = 10, .calls = 3});
  EXPECT_DOUBLE_EQ(times.to_log_seconds, 3 * 20.0 / 10);
  EXPECT_DOUBLE_EQ(times.to_file_seconds, times.to_log_seconds);
}

TEST(WaysTest, ManySmallPiecesAreSieved) {
  Machine machine = round_machine();
  // One by one 200 / 10; sieved each of two ranks goes through 200 bytes.
  const Transfer transfer{.ranks = 2, .call_bytes = 100, .pieces_per_call = 10};
  EXPECT_DOUBLE_EQ(independent_times(machine, transfer).to_log_seconds, 400.0 / 80);
  machine.file.sieved_piece_seconds = 0.25;
  EXPECT_DOUBLE_EQ(independent_times(machine, transfer).to_log_seconds, 400.0 / 80 + 10 * 0.25);
  // Of large pieces that is not worth it.
  const Transfer large{.ranks = 2, .call_bytes = 2000, .pieces_per_call = 2};
  EXPECT_DOUBLE_EQ(independent_times(machine, large).to_log_seconds, 4000.0 / 100);
}

TEST(WaysTest, TwoPhaseOnOneNodeCopiesAndWrites) {
  const Machine machine = round_machine();
  const Times times =
      two_phase_times(machine, {.ranks = 2, .call_bytes = 500, .pieces_per_call = 50, .calls = 2});
  EXPECT_DOUBLE_EQ(times.to_file_seconds, 2 * (3 + 1000.0 / 1000 + 1000.0 / 100));
}

TEST(WaysTest, TwoPhaseBetweenNodesSendsWhatIsNotTheirs) {
  Machine machine = round_machine();
  machine.file.link_bytes_per_second = 200;
  // 4 nodes: 2 messages before, and 3 for each of 2 windows; 3 of 4 bytes cross the link.
  const Times times = two_phase_times(machine, {.ranks = 8, .nodes = 4, .call_bytes = 1000});
  EXPECT_DOUBLE_EQ(times.to_file_seconds,
                   3 + 2000.0 / 1000 + (2 + 3 * 2) * 0.5 + 1500.0 / 200 + 2000.0 / 100);
}

// docs/model.md has these beside measured ones.
TEST(WaysTest, FiguresOfTheDocument) {
  struct Row {
    double block, independent, cold_log, cold_file, warm_log, warm_file;  // MB/s
  };
  const Row rows[] = {{1312, 480, 2145, 992, 0, 0},
                      {4096, 879, 2470, 1269, 6785, 1884},
                      {16384, 2023, 2609, 1407, 7770, 2193},
                      {65536, 2445, 2647, 1447, 8063, 2286}};
  const Machine cold{};
  Machine warm{};
  warm.log.warm_bytes = warm.log.capacity_bytes;
  const double bytes = 48 * 1048576.0;
  for (const Row& row : rows) {
    const Transfer transfer{.ranks = 2, .call_bytes = row.block, .calls = bytes / row.block};
    const auto rate = [bytes](double seconds) { return 2 * bytes / seconds / 1e6; };
    EXPECT_NEAR(rate(independent_times(cold, transfer).to_file_seconds), row.independent, 1) << row.block;
    EXPECT_NEAR(rate(log_times(cold, transfer).to_log_seconds), row.cold_log, 1) << row.block;
    EXPECT_NEAR(rate(log_times(cold, transfer).to_file_seconds), row.cold_file, 1) << row.block;
    if (row.warm_log == 0) continue;
    EXPECT_NEAR(rate(log_times(warm, transfer).to_log_seconds), row.warm_log, 1) << row.block;
    EXPECT_NEAR(rate(log_times(warm, transfer).to_file_seconds), row.warm_file, 1) << row.block;
  }
  const Transfer large{.ranks = 2, .call_bytes = 65536, .calls = 1024};
  EXPECT_NEAR(2 * 1024 * 65536 / two_phase_times(cold, large).to_file_seconds / 1e6, 1877, 1);
}

// By the figures that are built in: docs/performance.md has 12 to 15 times collective buffering cold.
TEST(WaysTest, TheBuiltInMachinePrefersALogForSmallRecords) {
  const Machine machine{};
  const Transfer small{.ranks = 2, .call_bytes = 1312, .calls = 51200};
  EXPECT_LT(log_times(machine, small).to_log_seconds, independent_times(machine, small).to_log_seconds);
  EXPECT_LT(log_times(machine, small).to_file_seconds, independent_times(machine, small).to_file_seconds);
  const Transfer large{.ranks = 2, .call_bytes = 1048576, .calls = 64};
  EXPECT_GT(log_times(machine, large).to_file_seconds, independent_times(machine, large).to_file_seconds);
}

}  // namespace
}  // namespace pmio
