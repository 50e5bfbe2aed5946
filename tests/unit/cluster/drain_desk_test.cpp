// How many questions the coordinator is asked, and who is served by which.
#include "cluster/drain_desk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <future>

#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

constexpr uint64_t kFile = 7;

// A coordinator that answers when the test says so, and a desk that ranks ask.
class DrainDeskTest : public testing::Test {
 protected:
  DrainDeskTest()
      : coordinator_(start([this](uint32_t, std::span<const std::byte> payload, PeerReply reply) {
          MessageReader body(payload);
          uint64_t file = 0;
          Asked asked{{}, std::move(reply)};
          EXPECT_TRUE(body.get(&file) && body.get(&asked.wanted) && body.done());
          const std::lock_guard lock(mutex_);
          asked_.push_back(std::move(asked));
          changed_.notify_all();
        })),
        leaders_(std::vector<PeerAddress>{coordinator_->address(), coordinator_->address()}, token(), 1),
        desk_(std::make_unique<DrainDesk>(leaders_)),
        service_(start([this](uint32_t, std::span<const std::byte> payload, PeerReply reply) {
          DrainBody wanted{};
          EXPECT_TRUE(MessageReader(payload).get(&wanted));
          desk_->request(kFile, wanted, std::move(reply));
          const std::lock_guard lock(mutex_);
          came_++;
          changed_.notify_all();
        })) {}
  ~DrainDeskTest() override {
    coordinator_.reset();
    service_.reset();
  }
  std::future<Status> drain(const DrainBody& wanted) {
    return std::async(std::launch::async, [this, wanted] {
      PeerConnection rank(service_->address(), token(), 1);
      return rank.call(1, std::as_bytes(std::span(&wanted, 1))).status();
    });
  }
  bool reach(size_t came, size_t asked) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return came_ >= came && asked_.size() >= asked; });
  }
  // Of the questions so far.
  size_t asked() {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }
  void answer(size_t question, const Status& status) {
    const std::lock_guard lock(mutex_);
    send_status(asked_[question].reply, status);
  }

  struct Asked {
    DrainBody wanted;
    PeerReply reply;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;
  size_t came_ = 0;
  std::unique_ptr<PeerServer> coordinator_;
  Leaders leaders_;
  std::unique_ptr<DrainDesk> desk_;
  std::unique_ptr<PeerServer> service_;
};

// Those that come while the first one's question is under way have one of their own, which begins later.
TEST_F(DrainDeskTest, RanksThatWaitForTheSameShareAQuestion) {
  constexpr size_t kRanks = 50;
  std::vector<std::future<Status>> ranks;
  ranks.push_back(drain({5, 1}));
  ASSERT_TRUE(reach(1, 1));
  while (ranks.size() < kRanks) ranks.push_back(drain({5, 1}));
  ASSERT_TRUE(reach(kRanks, 1));
  EXPECT_EQ(asked(), 1u);
  answer(0, {});
  EXPECT_TRUE(ranks[0].get().ok());
  ASSERT_TRUE(reach(kRanks, 2));
  EXPECT_EQ(ranks[1].wait_for(50ms), std::future_status::timeout);
  answer(1, {});
  for (size_t i = 1; i < kRanks; i++) EXPECT_TRUE(ranks[i].get().ok());
  EXPECT_EQ(asked(), 2u);
}

// Which may be what the other one waits for.
TEST_F(DrainDeskTest, NobodyWaitsForWhatAnotherOneWaitsFor) {
  auto later = drain({6, 1});
  ASSERT_TRUE(reach(1, 1));
  auto other = drain({6, 0});
  ASSERT_TRUE(reach(2, 2));
  auto sooner = drain({5, 1});
  ASSERT_TRUE(reach(3, 3));
  answer(2, {});
  EXPECT_TRUE(sooner.get().ok());
  answer(1, {});
  EXPECT_TRUE(other.get().ok());
  EXPECT_EQ(later.wait_for(50ms), std::future_status::timeout);
  answer(0, {});
  EXPECT_TRUE(later.get().ok());
}

TEST_F(DrainDeskTest, TellsWhatIsWrong) {
  auto first = drain({5, 1});
  ASSERT_TRUE(reach(1, 1));
  answer(0, Status::from_errno(ENOSPC, "cannot write"));
  const Status status = first.get();
  EXPECT_EQ(status.code(), Code::no_space);
  EXPECT_NE(status.message().find("cannot write"), std::string::npos) << status.message();
  auto second = drain({5, 1});
  ASSERT_TRUE(reach(2, 2));
  coordinator_.reset();
  EXPECT_EQ(second.get().system_errno(), ECONNRESET);
}

}  // namespace
}  // namespace pmio::peer_test
