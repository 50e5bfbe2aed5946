#include "mpi/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pmio {
namespace {

OpenStatement by(int rank) {
  OpenStatement said;
  said.rank = rank;
  said.open_number = rank == 0 ? int64_t{7} << 32 | 3 : 0;
  said.file.emplace().mark = 12345;
  return said;
}

// In an order and in groups of the library's choice.
Agreement of_all(const std::vector<OpenStatement>& ranks) {
  Agreement upwards, downwards;
  for (const OpenStatement& said : ranks) upwards = Agreement::combine(upwards, Agreement(said));
  for (auto said = ranks.rbegin(); said != ranks.rend(); ++said)
    downwards = Agreement::combine(Agreement(*said), downwards);
  EXPECT_TRUE(std::equal(upwards.numbers().begin(), upwards.numbers().end(), downwards.numbers().begin()));
  return Agreement::combine(upwards, downwards);
}

TEST(Agreement, OfRanksThatCanAllLogTheSameFile) {
  const Agreement all = of_all({by(0), by(1), by(2)});
  EXPECT_TRUE(all.all_can());
  EXPECT_TRUE(all.same_file());
  EXPECT_EQ(all.open_number(), int64_t{7} << 32 | 3);
  EXPECT_EQ(all.file_number(), all.open_number() + 1);
  EXPECT_EQ(all.size_bytes(), 0);
  for (int rank = 0; rank < 3; rank++) EXPECT_FALSE(all.complains(rank));
}

TEST(Agreement, OfOneRankIsWhatItSays) {
  OpenStatement said = by(0);
  said.file->size_bytes = 99;
  said.proposed_tag = 4;
  const Agreement all = of_all({said});
  EXPECT_TRUE(all.all_can());
  EXPECT_TRUE(all.same_file());
  EXPECT_EQ(all.size_bytes(), 99);
  EXPECT_EQ(all.tag(), 4);
}

TEST(Agreement, OneRankThatCannotIsEnough) {
  OpenStatement cannot = by(1);
  cannot.file.reset();
  EXPECT_FALSE(of_all({by(0), cannot, by(2)}).all_can());
  Agreement failed = of_all({by(0), by(1)});
  failed.fail(1);
  EXPECT_FALSE(failed.all_can());
}

TEST(Agreement, AllRanksMustWantACloseInTheBackground) {
  std::vector<OpenStatement> ranks{by(0), by(1), by(2)};
  for (OpenStatement& said : ranks) said.closes_in_background = true;
  EXPECT_TRUE(of_all(ranks).closes_in_background());
  ranks[1].closes_in_background = false;
  EXPECT_FALSE(of_all(ranks).closes_in_background());
}

TEST(Agreement, TheLowestOfThoseThatHaveAComplaintComplains) {
  std::vector<OpenStatement> ranks{by(0), by(1), by(2), by(3)};
  ranks[1].has_complaint = ranks[3].has_complaint = true;
  ranks[3].file.reset();
  const Agreement all = of_all(ranks);
  EXPECT_FALSE(all.complains(0));
  EXPECT_TRUE(all.complains(1));
  EXPECT_FALSE(all.complains(3));
}

TEST(Agreement, TheFurthestRankCounts) {
  std::vector<OpenStatement> ranks{by(0), by(1), by(2)};
  ranks[0].proposed_tag = 5;
  ranks[1].proposed_tag = 40'000;
  ranks[1].file->size_bytes = 1 << 20;
  ranks[2].file->last_call = 17;
  ranks[0].file->horizon = int64_t{16} << 32 | 9;
  ranks[1].file->finished_horizon = int64_t{15} << 32 | 2;
  const Agreement all = of_all(ranks);
  EXPECT_EQ(all.tag(), 40'000);
  EXPECT_EQ(all.size_bytes(), 1 << 20);
  EXPECT_EQ(all.last_call(), 17);
  EXPECT_EQ(all.horizon(), int64_t{16} << 32 | 9);
  EXPECT_EQ(all.finished_horizon(), int64_t{15} << 32 | 2);
}

TEST(Agreement, ANumberThatSomeRankHasKeptIsTheFiles) {
  std::vector<OpenStatement> ranks{by(0), by(1), by(2)};
  ranks[2].file->file_number = 1'000'000'000'000;
  EXPECT_EQ(of_all(ranks).file_number(), 1'000'000'000'000);
}

TEST(Agreement, OneRankThatCannotLogKeepsAllFromIt) {
  std::vector<OpenStatement> ranks{by(0), by(1), by(2)};
  for (OpenStatement& said : ranks) said.can_log = true;
  EXPECT_TRUE(of_all(ranks).all_can_log());
  ranks[1].can_log = false;
  EXPECT_FALSE(of_all(ranks).all_can_log());
  EXPECT_TRUE(of_all(ranks).all_can());
}

TEST(Agreement, OneRankWithAnotherFileIsSeenByAll) {
  std::vector<OpenStatement> ranks{by(0), by(1), by(2)};
  ranks[1].file->mark = 12344;
  EXPECT_FALSE(of_all(ranks).same_file());
  ranks[1].file->mark = INT64_MAX;
  EXPECT_FALSE(of_all(ranks).same_file());
}

TEST(Agreement, ARankWithoutAFileHasNoSizeAndNoIdentity) {
  OpenStatement without;
  without.rank = 1;
  OpenStatement with = by(0);
  with.file->size_bytes = 10;
  const Agreement all = of_all({with, without});
  EXPECT_EQ(all.size_bytes(), 10);
  EXPECT_TRUE(all.same_file());
}

}  // namespace
}  // namespace pmio
