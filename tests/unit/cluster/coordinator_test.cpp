// The order of a round's requests, which horizon it takes, and what becomes of who waits when a node fails.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "drain/run.h"
#include "fake_leader.h"

namespace pmio::test {
namespace {

using namespace std::chrono_literals;

class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    for (auto& node : nodes_) {
      calls_[&node - nodes_] = begun_[&node - nodes_] = clock_[&node - nodes_] = 0;
      node.on(Request::poll, [this, &node](MessageReader, MessageWriter* answer) {
        const auto i = &node - nodes_;
        answer->put(PollAnswer{calls_[i], begun_[i], clock_[i], 1});
        return Status();
      });
      node.on(Request::plan, [this](MessageReader body, MessageWriter* answer) {
        PlanBody plan{};
        EXPECT_TRUE(body.get(&plan));
        horizon_ = plan.horizon;
        answer->put(PlanAnswer{0, 0});
        return Status();
      });
      node.on(Request::write, [](MessageReader, MessageWriter* answer) {
        answer->put_list(std::span<const uint64_t>());
        return Status();
      });
    }
    coordinator_ = std::make_unique<Coordinator>(std::make_unique<Leaders>(addresses(), job_token(), 0));
    nodes_[0].lead(coordinator_.get());
  }
  void TearDown() override {
    for (auto& node : nodes_) node.die();  // before the coordinator that it asks
    coordinator_.reset();
  }
  std::vector<PeerAddress> addresses() const { return {nodes_[0].address(), nodes_[1].address()}; }

  Status drain(uint64_t file, uint64_t calls, bool all = false) {
    Leaders mine(addresses(), job_token(), 1);
    const MessageWriter wanted = MessageWriter().put(file).put(DrainBody{calls, all ? 1u : 0u});
    return mine.ask(kCoordinator, Request::drain, wanted).status();
  }
  // Who waits for ever has its coordinator die.
  bool drains_at_once(uint64_t file, uint64_t calls, bool all) {
    auto drained = std::async(std::launch::async, [=, this] { return drain(file, calls, all); });
    if (drained.wait_for(10s) != std::future_status::ready) nodes_[0].die();
    return drained.get().ok();
  }

  FakeLeader nodes_[2];
  std::atomic<uint64_t> calls_[2], begun_[2], clock_[2];
  std::atomic<uint64_t> horizon_{0};
  std::unique_ptr<Coordinator> coordinator_;
};

const std::vector<Request> kRound{Request::poll, Request::plan, Request::write, Request::finish,
                                  Request::end};

TEST_F(CoordinatorTest, LeadsARoundInOrder) {
  calls_[0] = begun_[0] = begun_[1] = 5;
  calls_[1] = 3;
  EXPECT_TRUE(drain(kFile, 3).ok());
  EXPECT_EQ(horizon_, call_stamp(4, 0));  // what there is of the call that is going on
  for (auto& node : nodes_) EXPECT_EQ(node.came(), kRound);
}

// One node tells a window at a time, all of which the other one has bytes of too.
TEST_F(CoordinatorTest, AsksForPlansUntilTheyAreComplete) {
  constexpr uint64_t kWindows = 5;
  const auto windows = [](uint64_t from, uint64_t to, MessageWriter* answer) {
    answer->put(PlanAnswer{to < kWindows ? to : 0, to - from});
    for (uint64_t window = from; window < to; window++) {
      const Interval bytes{window * kWindowBytes, window * kWindowBytes + 10};
      answer->put(window).put_list(std::span<const Interval>(&bytes, 1));
    }
    return Status();
  };
  nodes_[0].on(Request::plan,
               [=](MessageReader, MessageWriter* answer) { return windows(0, kWindows, answer); });
  nodes_[1].on(Request::plan, [=](MessageReader body, MessageWriter* answer) {
    PlanBody plan{};
    EXPECT_TRUE(body.get(&plan));
    return windows(plan.from, plan.from + 1, answer);
  });
  std::atomic<uint64_t> written{0};
  for (auto& node : nodes_)
    node.on(Request::write, [&](MessageReader body, MessageWriter* answer) {
      WriteBody work{};
      std::vector<uint64_t> left;
      EXPECT_TRUE(body.get(&work) && body.get_list(&left));
      written += kWindows - left.size();
      answer->put_list(std::span<const uint64_t>());
      return Status();
    });
  EXPECT_TRUE(drain(kFile, 0).ok());
  EXPECT_EQ(written, kWindows);
  const auto came = nodes_[1].came();
  EXPECT_EQ(std::count(came.begin(), came.end(), Request::plan), static_cast<ptrdiff_t>(kWindows));
}

TEST_F(CoordinatorTest, DrainsIndependentWritesUpToTheLatest) {
  calls_[0] = begun_[0] = calls_[1] = begun_[1] = 3;
  clock_[0] = 17;
  clock_[1] = 9;
  EXPECT_TRUE(drain(kFile, 3, true).ok());
  EXPECT_EQ(horizon_, call_stamp(3, 17));
}

// Those of ranks that have finished a call are later than the call, on all ranks.
TEST_F(CoordinatorTest, WaitsForTheEndOfACallForTheIndependentWritesBehindIt) {
  calls_[0] = begun_[0] = begun_[1] = 3;
  calls_[1] = 2;
  clock_[0] = 17;
  std::atomic<bool> over{false};
  std::thread waits([&] {
    EXPECT_TRUE(drain(kFile, 3, true).ok());
    over = true;
  });
  EXPECT_TRUE(drain(kFile, 3).ok());
  EXPECT_EQ(horizon_, call_stamp(3, 0));
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(over);
  calls_[1] = 3;
  waits.join();
  EXPECT_EQ(horizon_, call_stamp(3, 17));
}

TEST_F(CoordinatorTest, DoesNothingWhereAllIsDrained) {
  for (auto& node : nodes_)
    node.on(Request::poll, [](MessageReader, MessageWriter* answer) {
      answer->put(PollAnswer{9, 9, 0, 0});
      return Status();
    });
  EXPECT_TRUE(drain(kFile, 9).ok());
  EXPECT_EQ(nodes_[1].came(), std::vector<Request>{Request::poll});
}

// Leaders may close the file, all of which is drained, before another rank of theirs has asked for it.
TEST_F(CoordinatorTest, NobodyWaitsForAFileThatAllLeadersHaveClosed) {
  for (auto& node : nodes_)
    node.on(Request::poll, [](MessageReader, MessageWriter* answer) {
      answer->put(PollAnswer{UINT64_MAX, 0, 0, 0});
      return Status();
    });
  for (const bool all : {false, true}) EXPECT_TRUE(drains_at_once(kFile, 9, all));
}

// Stamps have so many numbers: what is written beyond is in the file.
TEST_F(CoordinatorTest, NobodyWaitsForCallsBeyondTheLastNumber) {
  for (auto& calls : calls_) calls = kLastCall + 3;
  for (auto& begun : begun_) begun = kLastCall + 3;
  for (const bool all : {false, true}) EXPECT_TRUE(drains_at_once(kFile, kLastCall + 3, all));
}

// Others' files are drained meanwhile.
TEST_F(CoordinatorTest, WaitsForARankThatHasNotComeSoFar) {
  std::atomic<bool> over{false};
  std::thread waits([&] {
    EXPECT_TRUE(drain(kFile, 6).ok());
    over = true;
  });
  EXPECT_TRUE(drain(kFile + 1, 0).ok());
  EXPECT_TRUE(drain(kFile, 0).ok());
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(over);
  calls_[0] = calls_[1] = 6;
  waits.join();
}

TEST_F(CoordinatorTest, FilesThatAllWaitDoNotKeepTheNodesBusy) {
  std::vector<std::future<Status>> waiting;
  for (uint64_t file = kFile; file < kFile + 3; file++)
    waiting.push_back(std::async(std::launch::async, [=, this] { return drain(file, 6); }));
  std::this_thread::sleep_for(300ms);
  const auto came = nodes_[1].came();
  EXPECT_LT(std::count(came.begin(), came.end(), Request::poll), 200);  // else thousands
  for (auto& calls : calls_) calls = 6;
  for (auto& one : waiting) EXPECT_TRUE(one.get().ok());
}

TEST_F(CoordinatorTest, TellsAllOfAFailedWriteAndGoesOn) {
  nodes_[1].on(Request::write,
               [](MessageReader, MessageWriter*) { return Status::from_errno(ENOSPC, "cannot write"); });
  std::atomic<uint64_t> told{0};
  nodes_[0].on(Request::end, [&](MessageReader body, MessageWriter*) {
    EndBody end{};
    EXPECT_TRUE(body.get(&end));
    told = end.error;
    return Status();
  });
  const Status status = drain(kFile, 0);
  EXPECT_EQ(status.code(), Code::no_space);
  EXPECT_NE(status.message().find("cannot write"), std::string::npos) << status.message();
  EXPECT_EQ(told, static_cast<uint64_t>(ENOSPC));
  const auto came = nodes_[0].came();
  EXPECT_EQ(std::count(came.begin(), came.end(), Request::finish), 0);
  nodes_[1].on(Request::write, [](MessageReader, MessageWriter* answer) {
    answer->put_list(std::span<const uint64_t>());
    return Status();
  });
  EXPECT_TRUE(drain(kFile, 0).ok());
}

// A leader that was given up asks: also once the coordinator leads another round of the same file.
TEST_F(CoordinatorTest, KnowsWhichRoundItLeads) {
  std::atomic<uint64_t> round{0};
  nodes_[1].on(Request::plan, [&](MessageReader body, MessageWriter* answer) {
    PlanBody plan{};
    EXPECT_TRUE(body.get(&plan));
    EXPECT_TRUE(coordinator_->leads(plan.round));
    EXPECT_FALSE(coordinator_->leads(round));
    round = plan.round;
    answer->put(PlanAnswer{0, 0});
    return Status();
  });
  for (const Request kind : {Request::write, Request::finish, Request::end})
    nodes_[0].on(kind, [&, kind](MessageReader body, MessageWriter* answer) {
      EXPECT_TRUE(coordinator_->leads(round)) << static_cast<int>(kind);
      uint64_t told = 0;
      EXPECT_TRUE(body.get(&told));
      EXPECT_EQ(told, round) << static_cast<int>(kind);
      if (kind == Request::write) answer->put_list(std::span<const uint64_t>());
      return Status();
    });
  for (int i = 0; i < 2; i++) {
    EXPECT_TRUE(drain(kFile, 0).ok());
    EXPECT_FALSE(coordinator_->leads(round));
  }
  nodes_[1].on(Request::write, [](MessageReader, MessageWriter*) { return Status::from_errno(EIO, "disk"); });
  EXPECT_FALSE(drain(kFile, 0).ok());
  EXPECT_FALSE(coordinator_->leads(round));
}

// Some nodes count as drained what others do not.
TEST_F(CoordinatorTest, DrainsAFileNoMoreOnceAFinishHasFailed) {
  nodes_[1].on(Request::finish,
               [](MessageReader, MessageWriter*) { return Status::from_errno(EIO, "ledger"); });
  EXPECT_EQ(drain(kFile, 0).system_errno(), EIO);
  nodes_[1].on(Request::finish, [](MessageReader, MessageWriter*) { return Status(); });
  const auto before = nodes_[1].came().size();
  EXPECT_EQ(drain(kFile, 0).system_errno(), EIO);
  EXPECT_EQ(nodes_[1].came().size(), before);
  EXPECT_TRUE(drain(kFile + 1, 0).ok());
}

TEST_F(CoordinatorTest, AnswersWithAnErrorWhereANodeIsGone) {
  nodes_[1].die();
  const Status status = drain(kFile, 0);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::io) << status.message();
  EXPECT_NE(status.message().find("127.0.0.1"), std::string::npos) << status.message();
}

TEST_F(CoordinatorTest, BelievesNoNonsense) {
  for (const Request kind : {Request::poll, Request::plan, Request::write}) {
    nodes_[1].on(kind, [](MessageReader, MessageWriter* answer) {
      answer->put(uint64_t{UINT64_MAX});
      return Status();
    });
    EXPECT_EQ(drain(kFile, 0).system_errno(), EPROTO) << static_cast<int>(kind);
    if (kind == Request::poll)
      nodes_[1].on(kind, [](MessageReader, MessageWriter* answer) {
        answer->put(PollAnswer{0, 0, 0, 1});
        return Status();
      });
    if (kind == Request::plan)
      nodes_[1].on(kind, [](MessageReader, MessageWriter* answer) {
        answer->put(PlanAnswer{0, 0});
        return Status();
      });
  }
}

TEST_F(CoordinatorTest, WhoWaitsWhenItDiesGetsAnError) {
  std::thread waits([&] { EXPECT_FALSE(drain(kFile, 100).ok()); });
  while (nodes_[1].came().empty()) std::this_thread::sleep_for(1ms);
  nodes_[0].die();
  waits.join();
}

}  // namespace
}  // namespace pmio::test
