#include "model/liu.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

// Powers of two, so that every result is exact.
const liu::Platform kPlatform{.t_s_seconds = 0.5,
                              .t_w_seconds_per_mb = 0.25,
                              .bdw_seq_mb_per_second = 8,
                              .bdw_ran_mb_per_second = 2,
                              .t_other_seconds = 0.125};
const liu::Workload kWorkload{.msg_size_mb = {16, 16, 4}, .tau = 0.75};

TEST(LiuTest, Equation2AddsUpTheIterations) {
  EXPECT_EQ(liu::comm_seconds(kPlatform, kWorkload), 3 * 0.5 + 0.25 * 0.75 * (16 + 16 + 4));
  EXPECT_EQ(liu::comm_seconds(kPlatform, {}), 0);
}

TEST(LiuTest, WithoutShufflingAMessageStillCostsItsStart) {
  EXPECT_EQ(liu::comm_seconds(kPlatform, {{16, 16}, 0}), 1);
}

TEST(LiuTest, Equations3And5DivideByTheirBandwidth) {
  EXPECT_EQ(liu::collective_io_seconds(kPlatform, kWorkload), 36.0 / 8);
  EXPECT_EQ(liu::individual_io_seconds(kPlatform, kWorkload), 36.0 / 2);
}

TEST(LiuTest, Equations1And4AddTheOtherCost) {
  EXPECT_EQ(liu::collective_seconds(kPlatform, kWorkload), 8.25 + 4.5 + 0.125);
  EXPECT_EQ(liu::individual_seconds(kPlatform, kWorkload), 18.125);
}

TEST(LiuTest, TauOfThePapersExample) {
  EXPECT_EQ(liu::estimated_tau(8, 2), 0.75);
  EXPECT_EQ(liu::estimated_tau(4, 4), 0);
}

TEST(LiuTest, MessagesAreBuffersAndARest) {
  EXPECT_EQ(liu::messages(48, 16), (std::vector<double>{16, 16, 16}));
  EXPECT_EQ(liu::messages(40, 16), (std::vector<double>{16, 16, 8}));
  EXPECT_EQ(liu::messages(4, 16), (std::vector<double>{4}));
  EXPECT_TRUE(liu::messages(0, 16).empty());
}

// Of the 16 GB of tables V and VI, on the hard drive and the SSD.
TEST(LiuTest, IndividualTimesThatThePaperPrints) {
  const liu::Workload workload{liu::messages(16384, 16), 0.75};
  liu::Platform platform{};
  platform.bdw_ran_mb_per_second = 26.72;
  EXPECT_NEAR(liu::individual_seconds(platform, workload), 613.17, 0.005);
  platform.bdw_ran_mb_per_second = 101.86;
  EXPECT_NEAR(liu::individual_seconds(platform, workload), 160.84, 0.009);
}

}  // namespace
}  // namespace pmio
