#include "span/remote_holdings.h"

#include <gtest/gtest.h>

#include <memory>

#include "drain/blocks.h"
#include "drain/pieces.h"

namespace pmio {
namespace {

constexpr uint64_t kFile = 7;

class FakeNeighbours : public Neighbours {
 public:
  Held told{true, {}, 100 * kWindowBytes};
  int questions = 0;
  uint64_t windows = 0;                // of the last one
  uint64_t most_windows = UINT64_MAX;  // of more there is too much to tell

  const NodePlace& place() const override { return place_; }
  Result<Answer> ask(uint64_t, CallStamp, std::span<const Vector>, Purpose) override { return Answer(); }
  Result<Held> holdings(uint64_t, uint64_t, const Interval& bytes) override {
    questions++;
    EXPECT_GT(bytes.bytes(), 0);
    windows = bytes.bytes() / kWindowBytes;
    Held answer = told;
    answer.complete = told.complete && windows <= most_windows;
    return answer;
  }
  Status drain(uint64_t, uint64_t, bool) override { return {}; }
  Status forget(uint64_t) override { return {}; }
  Status truncated(uint64_t) override { return {}; }
  Status discard(uint64_t) override { return {}; }

 private:
  NodePlace place_;
};

struct RemoteHoldingsTest : testing::Test {
  FakeNeighbours others;
  RemoteHoldings holdings;
  std::unique_ptr<RemoteSyncs> synced{new RemoteSyncs()};
  uint64_t end = 0;
  uint64_t changes = 0;

  bool clear_of(int64_t offset, uint64_t bytes, uint64_t calls = 1) {
    const Vector range{offset, bytes, 0, 1};
    const auto clear = holdings.clear_of(others, kFile, calls, changes, {&range, 1}, synced.get(), &end);
    EXPECT_TRUE(clear.ok());
    return clear.ok() && clear.value();
  }
  // Until it asks for whole windows.
  void ask_often(uint64_t calls = 1) {
    for (int i = 0; i < 100 && others.questions == 0; i++) (void)clear_of(90 * kWindowBytes, 1, calls);
    others.questions = 0;
  }
};

TEST_F(RemoteHoldingsTest, OneQuestionPerWindow) {
  EXPECT_FALSE(clear_of(0, 8));
  EXPECT_EQ(others.questions, 0);
  ask_often();
  for (int64_t offset = 0; offset < 8000; offset += 8) EXPECT_TRUE(clear_of(offset, 8));
  EXPECT_EQ(others.questions, 1);
  EXPECT_EQ(end, 100 * kWindowBytes);
  EXPECT_TRUE(clear_of(kWindowBytes - 4, 8));
  EXPECT_EQ(others.questions, 2);
}

// Nobody asks for more windows than he may come to read: twice as many each time.
TEST_F(RemoteHoldingsTest, WhoReadsOneWindowAfterTheOtherAsksForMoreAtOnce) {
  ask_often();
  for (uint64_t window = 0; window < 63; window++) EXPECT_TRUE(clear_of(window * kWindowBytes, 8));
  EXPECT_EQ(others.questions, 7);  // 1, 2, 4, 8, and 16 three times
  EXPECT_EQ(others.windows, 16);
  EXPECT_TRUE(clear_of(85 * kWindowBytes, 8));
  EXPECT_EQ(others.windows, 1);
  EXPECT_TRUE(clear_of(84 * kWindowBytes, 8));
  EXPECT_TRUE(clear_of(80 * kWindowBytes, 8));
  EXPECT_TRUE(clear_of(81 * kWindowBytes, 8));
  EXPECT_EQ(others.windows, 2);
  EXPECT_TRUE(clear_of(83 * kWindowBytes, 8));
  EXPECT_EQ(others.windows, 1);  // the next ones are known
}

TEST_F(RemoteHoldingsTest, BeforeTheFirstCollectiveCall) {
  for (uint64_t window = 0; window < 15; window++) EXPECT_TRUE(clear_of(window * kWindowBytes, 8, 0));
  EXPECT_EQ(others.questions, 4);
}

TEST_F(RemoteHoldingsTest, AsksForLessWhereThereIsTooMuchToTell) {
  others.most_windows = 4;
  ask_often();
  for (uint64_t window = 0; window < 63; window++) EXPECT_TRUE(clear_of(window * kWindowBytes, 8));
  EXPECT_LE(others.windows, 4);
  EXPECT_LE(others.questions, 22);
}

TEST_F(RemoteHoldingsTest, WhatOthersHoldIsNotClearAndIsAskedAnew) {
  ask_often();
  others.told.held = {{{100, 100, 0, 1}}, {{300, 100, 0, 1}}};
  EXPECT_TRUE(clear_of(200, 100));
  EXPECT_TRUE(clear_of(0, 100));
  EXPECT_EQ(others.questions, 1);
  EXPECT_FALSE(clear_of(199, 2));
  EXPECT_TRUE(clear_of(400, 50));
  EXPECT_EQ(others.questions, 2);
  EXPECT_FALSE(clear_of(399, 2));
  others.told.held.clear();  // drained
  EXPECT_TRUE(clear_of(399, 2));
}

TEST_F(RemoteHoldingsTest, IsOldOnceAnotherNodeWritesPastItsLog) {
  ask_often();
  EXPECT_TRUE(clear_of(0, 8));
  changes++;
  EXPECT_FALSE(clear_of(0, 8));
}

TEST_F(RemoteHoldingsTest, WhatTheOthersHaveSyncedIsAChange) {
  ask_often();
  others.told.synced = {{1, 10}};
  EXPECT_TRUE(clear_of(0, 8));
  EXPECT_GT(synced->changes(), 0u);
}

TEST_F(RemoteHoldingsTest, BlocksBetweenThePieces) {
  ask_often();
  others.told.held = {{{100, 100, 200, 2}}};
  const Vector between{0, 100, 200, 3}, across{50, 100, 200, 2};
  EXPECT_TRUE(*holdings.clear_of(others, kFile, 1, 0, {&between, 1}, synced.get(), &end));
  EXPECT_FALSE(*holdings.clear_of(others, kFile, 1, 0, {&across, 1}, synced.get(), &end));
}

TEST_F(RemoteHoldingsTest, ALaterCallMakesItAskAgain) {
  ask_often();
  EXPECT_TRUE(clear_of(0, 8));
  EXPECT_FALSE(clear_of(0, 8, 2));
  ask_often(2);
  others.told.held = {{{0, 8, 0, 1}}};
  EXPECT_FALSE(clear_of(0, 8, 2));
}

TEST_F(RemoteHoldingsTest, NothingIsConcludedFromWhatIsNotComplete) {
  ask_often();
  others.told.complete = false;
  EXPECT_FALSE(clear_of(0, 8));
  EXPECT_FALSE(clear_of(0, 8));
  EXPECT_EQ(others.questions, 1);  // not for each piece
}

TEST_F(RemoteHoldingsTest, BehindTheEndThatWasKnownNothingIsCertain) {
  others.told.end = 90 * kWindowBytes + 1;
  ask_often();
  EXPECT_TRUE(clear_of(90 * kWindowBytes - 8, 8));
  EXPECT_FALSE(clear_of(90 * kWindowBytes, 8));
}

TEST_F(RemoteHoldingsTest, ForgetsTheEnd) {
  ask_often();
  EXPECT_TRUE(clear_of(0, 8));
  changes++;
  EXPECT_FALSE(clear_of(0, 8));
}

TEST(ToldHoldings, AreForgottenWithTheFirstRecordMore) {
  ToldHoldings answers;
  EXPECT_EQ(answers.find({5, 3}, 1, {0, 100}), nullptr);
  answers.add(1, {0, 100}, {{10, 5, 0, 1}});
  ASSERT_NE(answers.find({5, 3}, 1, {0, 100}), nullptr);
  EXPECT_EQ(answers.find({5, 3}, 1, {0, 100})->front().offset, 10);
  EXPECT_EQ(answers.find({5, 3}, 2, {0, 100}), nullptr);
  EXPECT_EQ(answers.find({5, 3}, 1, {0, 200}), nullptr);
  EXPECT_EQ(answers.find({5, 4}, 1, {0, 100}), nullptr);
  EXPECT_EQ(answers.find({5, 3}, 1, {0, 100}), nullptr);
}

TEST(WellOrdered, ListsFromOutside) {
  using List = std::vector<Vector>;
  EXPECT_TRUE(well_ordered(List{}));
  EXPECT_TRUE(well_ordered(List{{0, 10, 20, 3}, {50, 1, 0, 1}, {51, 8, 0, 1}}));
  EXPECT_FALSE(well_ordered(List{{0, 10, 20, 3}, {49, 1, 0, 1}}));
  EXPECT_FALSE(well_ordered(List{{50, 1, 0, 1}, {0, 10, 0, 1}}));
  EXPECT_FALSE(well_ordered(List{{0, 0, 0, 1}}));
  EXPECT_FALSE(well_ordered(List{{-1, 10, 0, 1}}));
}

}  // namespace
}  // namespace pmio
