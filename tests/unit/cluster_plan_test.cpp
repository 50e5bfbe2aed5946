// Who writes which window.
#include "cluster/plan.h"

#include <gtest/gtest.h>

#include "cluster_fixture.h"

namespace pmio::test {
namespace {

constexpr uint64_t kRound = 4;

struct Has {
  uint64_t window;
  std::vector<Interval> pieces;  // from the window's first byte on
};

std::vector<std::byte> answer_of(const std::vector<Has>& windows) {
  MessageWriter answer;
  answer.put(uint64_t{windows.size()});
  for (const Has& has : windows) {
    std::vector<Interval> pieces = has.pieces;
    for (Interval& piece : pieces) {
      piece.begin += has.window * kWindowBytes;
      piece.end += has.window * kWindowBytes;
    }
    answer.put(has.window).put(uint64_t{1}).put_list(std::span<const Interval>(pieces));
  }
  return {answer.bytes().begin(), answer.bytes().end()};
}

struct Share {
  ShareBody body;
  std::vector<uint32_t> nodes;
};

std::vector<Share> shares_of(const RoundPlan& plan) {
  const MessageWriter message = plan.work(kFile, kRound);
  MessageReader reader(message.bytes());
  uint64_t file = 0, round = 0;
  EXPECT_TRUE(reader.get(&file) && reader.get(&round));
  EXPECT_EQ(file, kFile);
  EXPECT_EQ(round, kRound);
  std::vector<Share> shares;
  while (!reader.done()) {
    Share share{};
    if (!reader.get(&share.body) || !reader.get_list(&share.nodes)) break;
    shares.push_back(share);
  }
  EXPECT_TRUE(reader.done());
  return shares;
}

std::vector<NodeRound::Foreign> foreign_of(const RoundPlan& plan, uint32_t node) {
  const std::vector<MessageWriter> messages = plan.finish(kFile, kRound);
  MessageReader reader(messages[node].bytes());
  uint64_t file = 0, round = 0;
  std::vector<NodeRound::Foreign> foreign;
  EXPECT_TRUE(reader.get(&file) && reader.get(&round) && reader.get_list(&foreign) && reader.done());
  return foreign;
}

RoundPlan plan_of(const std::vector<std::vector<Has>>& nodes) {
  std::vector<std::vector<std::byte>> answers;
  for (const auto& windows : nodes) answers.push_back(answer_of(windows));
  RoundPlan plan(static_cast<uint32_t>(nodes.size()));
  EXPECT_TRUE(plan.read(answers).ok());
  return plan;
}

TEST(Plan, EachWritesItsOwnWherePiecesDoNotMix) {
  EXPECT_TRUE(shares_of(plan_of({{{0, {{0, 10}}}}, {{0, {{10, 20}}}, {1, {{0, 5}}}}})).empty());
}

TEST(Plan, OneOfThemWritesWhatMixes) {
  const RoundPlan plan = plan_of({{{3, {{0, 10}, {30, 40}}}}, {}, {{3, {{5, 6}}}, {4, {{0, 5}}}}});
  const auto shares = shares_of(plan);
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].body.window, 3u);
  EXPECT_EQ(shares[0].nodes, (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(shares[0].body.owner == 0 || shares[0].body.owner == 2);
}

TEST(Plan, SharedWindowsThatFollowEachOtherAreOfOneNode) {
  std::vector<Has> windows;
  for (uint64_t number = 10; number < 18; number++) windows.push_back({number, {{0, 10}}});
  std::vector<uint32_t> owners;
  for (const Share& share : shares_of(plan_of({windows, windows}))) owners.push_back(share.body.owner);
  EXPECT_EQ(owners, (std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Plan, EachHearsWhereOthersHaveWritten) {
  RoundPlan plan = plan_of({{{0, {{0, 10}, {30, 40}}}}, {{0, {{5, 6}}}}});
  const std::vector<uint64_t> mixed{0};
  const MessageWriter answer = MessageWriter().put_list(std::span<const uint64_t>(mixed));
  const std::vector<std::vector<std::byte>> answers{{answer.bytes().begin(), answer.bytes().end()}};
  ASSERT_TRUE(plan.read_mixed(answers).ok());
  const auto first = foreign_of(plan, 0), second = foreign_of(plan, 1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].begin, 5u);
  EXPECT_EQ(first[0].end, 6u);
  EXPECT_EQ(first[0].mixed, 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].begin, 0u);
  EXPECT_EQ(second[0].end, 40u);
}

TEST(Plan, BelievesNoNonsense) {
  const std::vector<std::vector<Has>> wrong{
      {{0, {}}},                       // nothing of a window
      {{0, {{5, 5}}}},                 // an empty piece
      {{0, {{5, kWindowBytes + 1}}}},  // one that leaves its window
      {{0, {{kWindowBytes, kWindowBytes + 1}}}},
  };
  for (const auto& windows : wrong) {
    const std::vector<std::vector<std::byte>> answers{answer_of(windows)};
    EXPECT_FALSE(RoundPlan(1).read(answers).ok());
  }
  std::vector<std::byte> cut = answer_of({{0, {{0, 10}}}});
  for (size_t length = 0; length < cut.size(); length++) {
    const std::vector<std::vector<std::byte>> answers{{cut.begin(), cut.begin() + static_cast<long>(length)}};
    EXPECT_FALSE(RoundPlan(1).read(answers).ok()) << length;
  }
}

}  // namespace
}  // namespace pmio::test
