// One node's part in the rounds: what it does for the coordinator, what it tells others, and when it ends.
#include <future>
#include <thread>

#include "fake_leader.h"
#include "nodes_fixture.h"
#include "peer/frame.h"
#include "span/spanning.h"

namespace pmio::test {
namespace {

// One node's part in the rounds, led by the test.
class RoundPartTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    write_all(1, 10'000);
    others_ = std::make_unique<Leaders>(leaders_, token_, 1);
    part_ = std::make_unique<RoundPart>(*members_[kRanksOfNode].job, *others_, 1);
  }
  void TearDown() override {
    part_->abandon();
    ClusterTest::TearDown();
  }
  Status plan(CallStamp cut, uint64_t round = 1) {
    const MessageWriter body = MessageWriter().put(PlanBody{cut, round, 0});
    MessageWriter answer;
    return part_->plan(kNumber, MessageReader(body.bytes()), &answer);
  }
  Status pieces(const PiecesBody& wanted, MessageWriter* answer) {
    const MessageWriter body = MessageWriter().put(wanted);
    return part_->pieces(kNumber, MessageReader(body.bytes()), answer);
  }
  // Which needs that no round of it goes on.
  bool discards() {
    auto discarded = std::async(std::launch::async, [this] {
      EXPECT_TRUE(Spanning::of(*members_[kRanksOfNode + 1].file).discard_here().ok());
    });
    const bool soon = discarded.wait_for(std::chrono::milliseconds(300)) == std::future_status::ready;
    part_->abandon();
    return soon;
  }
  std::unique_ptr<Leaders> others_;
  std::unique_ptr<RoundPart> part_;
};

// The coordinator leads its first round, which this part is taken for: the node's leader can begin its own
// only when the test's has ended.
TEST_F(RoundPartTest, LastsAsLongAsItsCoordinatorLeadsIt) {
  ASSERT_TRUE(plan(call_stamp(2, 0), 1).ok());
  auto drained = std::async(std::launch::async, [this] { return drain(0); });
  const MessageWriter question = MessageWriter().put(kNumber).put(uint64_t{1});
  while (!others_->ask(kCoordinator, Request::alive, question).ok())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  part_->look_after();
  EXPECT_FALSE(discards());
  EXPECT_TRUE(drained.get().ok());
}

TEST_F(RoundPartTest, EndsWhereItsCoordinatorLeadsNoRound) {
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  part_->look_after();
  EXPECT_TRUE(discards());
}

// Its next request would find no round.
TEST_F(RoundPartTest, GoesOnWhereItsCoordinatorIsTooBusyToAnswer) {
  test::FakeLeader busy;
  busy.on(Request::alive,
          [](MessageReader, MessageWriter*) { return Status::from_errno(ETIMEDOUT, "no connection"); });
  std::vector<PeerAddress> leaders = leaders_;
  leaders[0] = busy.address();
  others_ = std::make_unique<Leaders>(leaders, test::job_token(), 1);
  part_ = std::make_unique<RoundPart>(*members_[kRanksOfNode].job, *others_, 1);
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  for (int i = 0; i < 3; i++) part_->look_after();
  EXPECT_FALSE(discards());
}

TEST_F(RoundPartTest, EndsWhereItsCoordinatorLeadsAnotherRound) {
  ASSERT_TRUE(plan(call_stamp(2, 0), 2).ok());
  auto drained = std::async(std::launch::async, [this] { return drain(0); });
  const MessageWriter question = MessageWriter().put(kNumber).put(uint64_t{1});
  while (!others_->ask(kCoordinator, Request::alive, question).ok())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  part_->look_after();
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  part_->abandon();
  EXPECT_TRUE(drained.get().ok());
}

// The leader's own thread finds out, without another request.
TEST_F(ClusterTest, ARoundThatItsCoordinatorHasGivenUpDoesNotHoldUpWhoOpensTheFileAgain) {
  write_all(1, 10'000);
  Leaders coordinator(leaders_, token_, 0);
  const MessageWriter begin = MessageWriter().put(kNumber).put(PlanBody{call_stamp(2, 0), 1, 0});
  ASSERT_TRUE(coordinator.ask(1, Request::plan, begin).ok());
  auto opened = std::async(std::launch::async, [this] {
    return Spanning::of(*members_[kRanksOfNode + 1].file).finished_horizon();
  });
  const bool in_time = opened.wait_for(4 * TaskThread::kIdlePause) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  // Another one makes it give way, whatever it is of.
  if (!in_time)
    (void)coordinator.ask(1, Request::plan, MessageWriter().put(uint64_t{99}).put(PlanBody{0, 2, 0}));
  EXPECT_EQ(opened.get(), 0u);
  EXPECT_FALSE(drain(0).ok());  // the coordinator's first round, which this was taken for
  drain_all();
  expect_file();
}

TEST_F(RoundPartTest, EndsWithItsCoordinator) {
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  members_[0].cluster->stop();
  part_->look_after();
  EXPECT_TRUE(discards());
}

struct Told {
  std::vector<PieceBody> bodies;
  uint64_t bytes = 0, next = 0;
};

class RoundPartPiecesTest : public RoundPartTest {
 protected:
  RoundPartPiecesTest() { log_bytes_ = 64 << 20; }
  void append(uint64_t call, uint64_t offset, std::span<const std::byte> data) {
    const CallNumber number(0, static_cast<uint32_t>(call), false);
    ASSERT_TRUE(members_[kRanksOfNode].file->append(offset, data.data(), data.size(), number).ok());
  }
  Told told(const PiecesBody& wanted) {
    MessageWriter answer;
    EXPECT_TRUE(pieces(wanted, &answer).ok());
    MessageReader reader(answer.bytes());
    Told told;
    EXPECT_TRUE(reader.get(&told.next) && reader.get_list(&told.bodies));
    told.bytes = reader.left();
    return told;
  }
};

TEST_F(RoundPartPiecesTest, TellsOnlyWhatIsSeen) {
  constexpr uint64_t kAt = 5 * kWindowBytes;
  File& file = *members_[kRanksOfNode].file;
  for (uint64_t call = 2; call < 12; call++) {
    Spanning::of(file).begin_call();
    append(call, kAt + (call < 11 ? 0 : 100), std::vector<std::byte>(1000));
    Spanning::of(file).end_call();
  }
  ASSERT_TRUE(plan(call_stamp(12, 0)).ok());
  const Told seen = told({1, 5, 0});
  EXPECT_EQ(seen.bytes, 1100u);
  ASSERT_EQ(seen.bodies.size(), 2u);
  std::vector<std::pair<int64_t, uint64_t>> stamps;  // of the piece at this byte
  for (const PieceBody& body : seen.bodies)
    stamps.emplace_back(body.range.offset - kAt, stamp_calls(body.stamp));
  std::sort(stamps.begin(), stamps.end());
  EXPECT_EQ(stamps, (std::vector<std::pair<int64_t, uint64_t>>{{0, 10}, {100, 11}}));
}

// Of more small pieces than a message has room for.
TEST_F(RoundPartPiecesTest, TellsAWindowInParts) {
  constexpr uint64_t kPieces = 400'000, kStride = 10;
  const std::vector<std::byte> data(1);
  File& file = *members_[kRanksOfNode].file;
  Spanning::of(file).begin_call();
  for (uint64_t i = 0; i < kPieces; i++) append(2, 5 * kWindowBytes + i * kStride, data);
  Spanning::of(file).end_call();
  ASSERT_TRUE(plan(call_stamp(3, 0)).ok());
  std::vector<bool> came(kPieces);
  uint64_t parts = 0, next = 0;
  do {
    const Told some = told({1, 5, next});
    for (const PieceBody& body : some.bodies) {
      const uint64_t i = (static_cast<uint64_t>(body.range.offset) - 5 * kWindowBytes) / kStride;
      ASSERT_FALSE(came[i]);
      came[i] = true;
    }
    parts++;
    next = some.next;
  } while (next != 0);
  EXPECT_GT(parts, 1u);
  EXPECT_EQ(std::count(came.begin(), came.end(), true), kPieces);
}

TEST_F(RoundPartTest, GivesTheNextOneWay) {
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  ASSERT_TRUE(plan(call_stamp(2, 0), 2).ok());
  MessageWriter answer;
  ASSERT_TRUE(pieces({2, 0, 0}, &answer).ok());
  MessageReader reader(answer.bytes());
  NextPart next = 0;
  std::vector<PieceBody> bodies;
  ASSERT_TRUE(reader.get(&next) && reader.get_list(&bodies));
  EXPECT_EQ(next, 0u);
  ASSERT_EQ(bodies.size(), kRanksOfNode);
  for (const PieceBody& body : bodies) EXPECT_TRUE(sensible(body.range, 0));
}

// However many small pieces there are in however many windows.
TEST_F(RoundPartTest, TellsWhatItHasInMessagesOfBoundedSize) {
  struct Shape {
    uint64_t pieces, stride;
  };
  uint64_t call = 2, round = 1;
  for (const auto& [pieces, stride] :
       {Shape{2'000'000, kWindowBytes},
        Shape{70'000 * NodeRound::kMostIntervals, kWindowBytes / NodeRound::kMostIntervals}}) {
    Pattern sparse;
    sparse.add({0, 1, static_cast<int64_t>(stride), pieces});
    sparse.finish(static_cast<int64_t>(pieces * stride));
    const Pattern memory = Pattern::bytes(pieces);
    const std::vector<std::byte> data(pieces);
    PatternCursor to(sparse, 0, 0), from(memory, 0, 0);
    File& file = *members_[kRanksOfNode].file;
    Spanning::of(file).begin_call();
    ASSERT_TRUE(
        file.append(to, from, data.data(), data.size(), CallNumber(0, static_cast<uint32_t>(call), false))
            .ok());
    Spanning::of(file).end_call();
    RoundPlan plan(2);
    NextPart next = 0;
    do {
      const MessageWriter body = MessageWriter().put(PlanBody{call_stamp(call, 0), round, next});
      MessageWriter answer;
      ASSERT_TRUE(part_->plan(kNumber, MessageReader(body.bytes()), &answer).ok());
      EXPECT_LE(answer.size(), kMaxPayload);
      ASSERT_TRUE(MessageReader(answer.bytes()).get(&next));
      ASSERT_TRUE(plan.read(0, answer.bytes()).ok());
      ASSERT_TRUE(plan.read(1, answer.bytes()).ok());
    } while (next != 0);
    ASSERT_TRUE(plan.arrange().ok());
    do {
      for (const MessageWriter& message : plan.work(kNumber, round)) EXPECT_LE(message.size(), kMaxPayload);
    } while (plan.more_work());
    for (const MessageWriter& message : plan.changes(kNumber, round)) EXPECT_LE(message.size(), kMaxPayload);
    call++;
    round++;
  }
}

TEST_F(RoundPartTest, BelievesNoNonsense) {
  const MessageReader nothing{{}};
  const MessageWriter first = MessageWriter().put(WriteBody{1, 9, 10});  // of a list the length alone
  const MessageReader no_more{first.bytes()};
  MessageWriter answer;
  EXPECT_EQ(part_->plan(kNumber, nothing, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->write(kNumber, no_more, &answer).system_errno(), EPROTO);  // there is no round
  EXPECT_EQ(pieces({1, 0, 0}, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->finish(kNumber, no_more).system_errno(), EPROTO);
  ASSERT_TRUE(plan(call_stamp(2, 0)).ok());
  EXPECT_EQ(part_->write(kNumber, nothing, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->finish(kNumber, no_more).system_errno(), EPROTO);
  EXPECT_EQ(part_->end(kNumber + 1, nothing).system_errno(), EPROTO);
  EXPECT_EQ(pieces({1, 0, 1000}, &answer).system_errno(), EPROTO);  // more than there are
  const std::vector<uint32_t> nodes{0, kNodes};                     // one too many
  const MessageWriter shares = MessageWriter()
                                   .put(WriteBody{1, 0, UINT64_MAX})
                                   .put_list(std::span<const uint64_t>())
                                   .put(uint64_t{0})
                                   .put_list(std::span<const uint32_t>(nodes));
  EXPECT_EQ(part_->write(kNumber, MessageReader(shares.bytes()), &answer).system_errno(), EPROTO);
}

// Of a round that this node was given up in, which come when the next one has begun.
TEST_F(RoundPartTest, LateMessagesOfAnEarlierRoundDoNothing) {
  ASSERT_TRUE(plan(call_stamp(2, 0), 5).ok());
  MessageWriter answer;
  const MessageWriter late = MessageWriter().put(WriteBody{4, 0, 0}).put(uint64_t{0});
  EXPECT_EQ(part_->write(kNumber, MessageReader(late.bytes()), &answer).system_errno(), EPROTO);
  EXPECT_EQ(pieces({4, 0, 0}, &answer).system_errno(), EPROTO);
  EXPECT_EQ(part_->finish(kNumber, MessageReader(late.bytes())).system_errno(), EPROTO);
  const MessageWriter failed = MessageWriter().put(EndBody{4, EIO});
  EXPECT_EQ(part_->end(kNumber, MessageReader(failed.bytes())).system_errno(), EPROTO);
  EXPECT_EQ(plan(call_stamp(1, 0), 4).system_errno(), EPROTO);
  EXPECT_TRUE(pieces({5, 0, 0}, &answer).ok());
  const MessageWriter over = MessageWriter().put(EndBody{6, EIO});
  EXPECT_TRUE(part_->end(kNumber + 1, MessageReader(over.bytes())).ok());  // whose `plan` has not come yet
  EXPECT_EQ(plan(call_stamp(2, 0), 6).system_errno(), EPROTO);
  EXPECT_TRUE(discards());
}

}  // namespace
}  // namespace pmio::test
