#include "node/leases.h"

#include <gtest/gtest.h>

#include <memory>

namespace pmio {
namespace {

struct LeasesTest : testing::Test {
  std::unique_ptr<Leases> leases{new Leases()};
};

TEST_F(LeasesTest, IsHeldOnceAllHaveAnswered) {
  leases->ask(0, 0);
  EXPECT_FALSE(leases->holds(0));
  leases->grant(0, 0);
  EXPECT_TRUE(leases->holds(0));
  EXPECT_FALSE(leases->holds(1));
  leases->give_up(0);
  EXPECT_FALSE(leases->holds(0));
}

TEST_F(LeasesTest, WhatWasGivenUpMeanwhileIsNotHeld) {
  leases->ask(7, 3);
  leases->give_up(7);
  leases->grant(7, 3);
  EXPECT_FALSE(leases->holds(7));
}

// The question of the first may have been answered before that of the other node which took it away.
TEST_F(LeasesTest, TheAnswersToAnotherRankDoNotCount) {
  leases->ask(7, 3);
  leases->give_up(7);
  leases->ask(7, 4);
  leases->grant(7, 3);
  EXPECT_FALSE(leases->holds(7));
  leases->grant(7, 4);
  EXPECT_TRUE(leases->holds(7));
}

TEST_F(LeasesTest, AskingAnewKeepsWhatIsHeld) {
  leases->ask(7, 3);
  leases->grant(7, 3);
  leases->ask(7, 4);
  EXPECT_TRUE(leases->holds(7));
}

TEST_F(LeasesTest, AWindowLosesItsLeaseToAnother) {
  leases->ask(7, 3);
  leases->grant(7, 3);
  leases->ask(7 + Leases::kMost, 3);
  leases->grant(7 + Leases::kMost, 3);
  EXPECT_FALSE(leases->holds(7));
  leases->give_up(7);  // another window's
  EXPECT_TRUE(leases->holds(7 + Leases::kMost));
  leases->give_up_all();
  EXPECT_FALSE(leases->holds(7 + Leases::kMost));
}

}  // namespace
}  // namespace pmio
