#include "node/leases.h"

#include <gtest/gtest.h>

#include <memory>

namespace pmio {
namespace {

struct LeasesTest : testing::Test {
  std::unique_ptr<Leases> leases{new Leases()};
};

TEST_F(LeasesTest, IsHeldOnceAllHaveAnswered) {
  const uint64_t question = leases->ask(0);
  EXPECT_FALSE(leases->holds(0));
  leases->grant(0, question);
  EXPECT_TRUE(leases->holds(0));
  EXPECT_FALSE(leases->holds(1));
  leases->give_up(0);
  EXPECT_FALSE(leases->holds(0));
}

TEST_F(LeasesTest, WhatWasGivenUpMeanwhileIsNotHeld) {
  const uint64_t question = leases->ask(7);
  leases->give_up(7);
  leases->grant(7, question);
  EXPECT_FALSE(leases->holds(7));
}

// The question of the first may have been answered before that of the other node which took it away.
TEST_F(LeasesTest, TheAnswersToAnEarlierQuestionDoNotCount) {
  const uint64_t first = leases->ask(7);
  leases->give_up(7);
  const uint64_t second = leases->ask(7);
  leases->grant(7, first);
  EXPECT_FALSE(leases->holds(7));
  leases->grant(7, second);
  EXPECT_TRUE(leases->holds(7));
}

TEST_F(LeasesTest, RanksThatAskAtTheSameTimeAreBothGranted) {
  const uint64_t first = leases->ask(7), second = leases->ask(7);
  leases->grant(7, second);
  EXPECT_TRUE(leases->holds(7));
  leases->grant(7, first);
  EXPECT_TRUE(leases->holds(7));
  leases->give_up(7);
  leases->grant(7, first);
  leases->grant(7, second);
  EXPECT_FALSE(leases->holds(7));
}

TEST_F(LeasesTest, AskingAnewKeepsWhatIsHeld) {
  leases->grant(7, leases->ask(7));
  leases->ask(7);
  EXPECT_TRUE(leases->holds(7));
}

TEST_F(LeasesTest, AWindowLosesItsLeaseToAnother) {
  const uint64_t first = leases->ask(7);
  leases->grant(7, first);
  uint64_t other = 7;
  while (leases->holds(7)) {
    ++other;
    leases->grant(other, leases->ask(other));
  }
  EXPECT_TRUE(leases->holds(other));
  leases->give_up(7);  // another window's
  leases->grant(7, first);
  EXPECT_FALSE(leases->holds(7));
  EXPECT_TRUE(leases->holds(other));
  leases->give_up_all();
  EXPECT_FALSE(leases->holds(other));
}

// As ranks write that have a block of the file each: at every moment as many windows as ranks.
TEST_F(LeasesTest, WindowsAtEvenDistancesMostlyHaveRoomBesideEachOther) {
  constexpr uint64_t kRanks = 32;
  for (const uint64_t distance : {256, 1024, 4096, 8192, 65536, 1000, 2584}) {
    leases->give_up_all();
    uint64_t held = 0;
    for (uint64_t rank = 0; rank < kRanks; rank++)
      leases->grant(rank * distance, leases->ask(rank * distance));
    for (uint64_t rank = 0; rank < kRanks; rank++) held += leases->holds(rank * distance) ? 1 : 0;
    EXPECT_GE(held, kRanks - 2) << distance;
  }
}

}  // namespace
}  // namespace pmio
