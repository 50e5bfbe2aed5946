// Who writes which window.
#include "cluster/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "drain/run.h"
#include "fake_leader.h"

namespace pmio::test {
namespace {

constexpr uint64_t kRound = 4;

struct Has {
  uint64_t window;
  std::vector<Interval> pieces;  // from the window's first byte on
};

std::vector<std::byte> answer_of(const std::vector<Has>& windows) {
  MessageWriter answer;
  answer.put(PlanAnswer{0, windows.size()});
  for (const Has& has : windows) {
    std::vector<Interval> pieces = has.pieces;
    for (Interval& piece : pieces) {
      piece.begin += has.window * kWindowBytes;
      piece.end += has.window * kWindowBytes;
    }
    answer.put(has.window).put_list(std::span<const Interval>(pieces));
  }
  return answer.take();
}

RoundPlan plan_of(const std::vector<std::vector<Has>>& nodes, size_t most_parts = RoundPlan::kMostParts,
                  size_t most_changed = RoundPlan::kMostChanged) {
  RoundPlan plan(static_cast<uint32_t>(nodes.size()), most_parts, most_changed);
  for (uint32_t node = 0; node < nodes.size(); node++)
    EXPECT_TRUE(plan.read(node, answer_of(nodes[node])).ok());
  EXPECT_TRUE(plan.arrange().ok());
  return plan;
}

// What a node is told to do.
struct Work {
  WriteBody body;
  std::vector<uint64_t> left;
  struct Owned {
    uint64_t window = 0;
    std::vector<uint32_t> nodes;
    bool operator==(const Owned&) const = default;
  };
  std::vector<Owned> owned;
};

std::vector<Work> work_of(RoundPlan& plan) {
  std::vector<Work> all;
  for (const MessageWriter& message : plan.work(kFile, kRound)) {
    MessageReader reader(message.bytes());
    uint64_t file = 0;
    Work work{};
    EXPECT_TRUE(reader.get(&file) && reader.get(&work.body) && reader.get_list(&work.left));
    EXPECT_EQ(file, kFile);
    EXPECT_EQ(work.body.round, kRound);
    for (Work::Owned one; !reader.done(); work.owned.push_back(one))
      if (!reader.get(&one.window) || !reader.get_list(&one.nodes)) break;
    EXPECT_TRUE(reader.done());
    all.push_back(std::move(work));
  }
  return all;
}

std::vector<std::vector<ChangedBody>> changes_of(const RoundPlan& plan) {
  std::vector<std::vector<ChangedBody>> all;
  for (const MessageWriter& message : plan.changes(kFile, kRound)) {
    MessageReader reader(message.bytes());
    uint64_t file = 0, round = 0;
    all.emplace_back();
    EXPECT_TRUE(reader.get(&file) && reader.get(&round) && reader.get_list(&all.back()) && reader.done());
    EXPECT_EQ(round, kRound);
  }
  return all;
}

TEST(Plan, EachWritesItsOwnWherePiecesDoNotMix) {
  RoundPlan plan = plan_of({{{0, {{0, 10}}}}, {{0, {{10, 20}}}, {1, {{0, 5}}}}});
  for (const Work& work : work_of(plan)) EXPECT_TRUE(work.left.empty() && work.owned.empty());
  EXPECT_FALSE(plan.more_work());
}

// The others are told only that it is not theirs, whoever has nothing of it is told nothing.
TEST(Plan, OneOfThemWritesWhatMixes) {
  RoundPlan plan = plan_of({{{3, {{0, 10}, {30, 40}}}}, {}, {{3, {{5, 6}}}, {4, {{0, 5}}}}});
  const auto work = work_of(plan);
  const uint32_t owner = work[0].owned.empty() ? 2 : 0, other = 2 - owner;
  EXPECT_EQ(work[owner].owned, (std::vector<Work::Owned>{{3, {other}}}));
  EXPECT_TRUE(work[owner].left.empty() && work[other].owned.empty());
  EXPECT_EQ(work[other].left, std::vector<uint64_t>{3});
  EXPECT_TRUE(work[1].left.empty() && work[1].owned.empty());
}

TEST(Plan, SharedWindowsThatFollowEachOtherAreOfOneNode) {
  std::vector<Has> windows;
  for (uint64_t number = 10; number < 18; number++) windows.push_back({number, {{0, 10}}});
  RoundPlan plan = plan_of({windows, windows});
  const auto work = work_of(plan);
  EXPECT_EQ(work[0].left, (std::vector<uint64_t>{14, 15, 16, 17}));
  EXPECT_EQ(work[1].left, (std::vector<uint64_t>{10, 11, 12, 13}));
}

// So many windows at a time that no message has too many of them.
TEST(Plan, MuchWorkComesInSeveralRequests) {
  std::vector<Has> windows;
  for (uint64_t number = 10; number < 17; number++) windows.push_back({number, {{0, 10}}});
  RoundPlan plan = plan_of({windows, windows}, 4);
  uint64_t requests = 0, begin = 0;
  std::vector<uint64_t> owned;
  do {
    uint64_t end = 0;
    for (const Work& work : work_of(plan)) {
      EXPECT_EQ(work.body.begin, begin);
      end = work.body.end;
      EXPECT_LE(work.left.size() + work.owned.size(), 2u);
      for (const Work::Owned& one : work.owned) {
        EXPECT_TRUE(one.window >= begin && one.window < end);
        owned.push_back(one.window);
      }
    }
    begin = end;
    requests++;
  } while (plan.more_work());
  EXPECT_EQ(begin, UINT64_MAX);
  EXPECT_EQ(requests, 4u);
  std::sort(owned.begin(), owned.end());
  EXPECT_EQ(owned, (std::vector<uint64_t>{10, 11, 12, 13, 14, 15, 16}));
}

TEST(Plan, AllHearWhereOthersHaveWritten) {
  RoundPlan plan = plan_of({{{0, {{0, 10}, {30, 40}}}}, {{0, {{5, 6}}}, {1, {{0, 3}}}}, {{0, {{2, 39}}}}});
  const std::vector<uint64_t> mixed{0};
  const MessageWriter answer = MessageWriter().put_list(std::span<const uint64_t>(mixed));
  const std::vector<std::vector<std::byte>> answers{{answer.bytes().begin(), answer.bytes().end()}};
  ASSERT_TRUE(plan.read_mixed(answers).ok());
  const auto changes = changes_of(plan);
  ASSERT_EQ(changes.size(), 1u);
  ASSERT_EQ(changes[0].size(), 2u);
  const ChangedBody& both = changes[0][0];
  EXPECT_EQ(both.mixed, 1u);
  EXPECT_EQ(std::vector({both.begin, both.next_begin, both.next_end, both.end}),
            (std::vector<uint64_t>{0, 2, 39, 40}));
  EXPECT_TRUE(both.first == 0 && both.last == 0);
  const ChangedBody& one = changes[0][1];
  EXPECT_EQ(one.mixed, 0u);
  EXPECT_EQ(std::pair(one.begin, one.end), std::pair(kWindowBytes, kWindowBytes + 3));
  EXPECT_GE(one.next_begin, one.next_end);  // nobody else
}

TEST(Plan, ManyChangesComeInSeveralRequests) {
  std::vector<Has> windows;
  for (uint64_t number = 0; number < 5; number++) windows.push_back({number, {{0, 10}}});
  const auto changes = changes_of(plan_of({windows, windows}, 100, 2));
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[2].size(), 1u);
  EXPECT_EQ(changes[2][0].window, 4u);
  EXPECT_EQ(changes_of(plan_of({{}, {}})).size(), 1u);
}

TEST(Plan, BelievesNoNonsense) {
  const std::vector<std::vector<Has>> wrong{
      {{0, {}}},                       // nothing of a window
      {{0, {{5, 5}}}},                 // an empty piece
      {{0, {{5, kWindowBytes + 1}}}},  // one that leaves its window
      {{0, {{kWindowBytes, kWindowBytes + 1}}}},
      {{0, {{5, 9}, {8, 10}}}},  // two that overlap
  };
  for (const auto& windows : wrong) EXPECT_FALSE(RoundPlan(1).read(0, answer_of(windows)).ok());
  const std::vector<std::byte> cut = answer_of({{0, {{0, 10}}}});
  for (size_t length = 0; length < cut.size(); length++)
    EXPECT_FALSE(RoundPlan(1).read(0, std::span(cut).first(length)).ok()) << length;
  RoundPlan twice(1);
  for (int i = 0; i < 2; i++) EXPECT_TRUE(twice.read(0, cut).ok());
  EXPECT_FALSE(twice.arrange().ok());
}

}  // namespace
}  // namespace pmio::test
