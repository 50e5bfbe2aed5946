// Several nodes in one process, whose ranks have threads that make calls at once: a rank may learn of what
// was written in a collective call by one thread before another one has begun that call.
#include <future>

#include "nodes_fixture.h"
#include "span/spanning.h"

namespace pmio::test {
namespace {

class ThreadsTest : public ClusterTest {
 protected:
  ThreadsTest() { threads_at_once_ = true; }

  // A collective write call of one rank, which writes nothing if there is no data.
  void call(uint32_t rank, uint32_t number, uint64_t offset = 0, const std::vector<std::byte>& data = {},
            bool may_wait = true) {
    File& file = *members_[rank].file;
    Spanning::of(file).begin_call(may_wait);
    if (!data.empty()) {
      ASSERT_TRUE(file.append(offset, data.data(), data.size(), CallNumber(0, number, false)).ok());
      oracle_.write(offset, data.data(), data.size());
    }
    Spanning::of(file).end_call();
  }
  void alone(uint32_t rank, uint64_t offset, const std::vector<std::byte>& data) {
    ASSERT_TRUE(write_independent(rank, offset, data).ok());
    oracle_.write(offset, data.data(), data.size());
  }
  void expect_all() {
    for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  }
  void expect_in_the_end() {
    expect_all();
    drain_all();
    expect_file();
  }
  // Writes past the log, of all ranks.
  uint64_t past_log() const {
    uint64_t all = 0;
    for (const Member& member : members_)
      all += member.job->counters().direct_calls.load(std::memory_order_relaxed);
    return all;
  }

  const std::vector<std::byte> one_{1000, std::byte{1}}, two_{1000, std::byte{2}}, three_{1000, std::byte{3}};
};

TEST_F(ThreadsTest, IndependentWritesAreLogged) {
  for (uint32_t number = 1; number < 4; number++) {
    for (uint64_t i = 0; i < 20; i++)
      for (const uint32_t rank : {0u, 1u, 5u})
        alone(rank, rank * kWindowBytes + i * 1000, i % 2 == 0 ? one_ : two_);
    EXPECT_FALSE(same(contents(path_), oracle_.bytes));
    for (uint32_t rank = 0; rank < kRanks; rank++) call(rank, number, rank * 700, three_);
  }
  EXPECT_EQ(past_log(), 0);
  expect_in_the_end();
}

// One thread of rank 0 learns of rank 5's call before the other begins it, with a lease or without.
TEST_F(ThreadsTest, AnIndependentWriteComesAfterACallThatItsRankHasNotBegun) {
  for (const uint32_t number : {1u, 2u, 3u}) {
    if (number % 2 != 0) alone(0, 0, one_);
    call(5, number, 0, two_, number != 3);
    alone(0, 500, three_);
    expect_read(0);
    for (uint32_t rank = 0; rank < 5; rank++) call(rank, number, 0, {}, number != 3);
    expect_all();
  }
  expect_in_the_end();
}

// The same on one node.
TEST_F(ThreadsTest, AnIndependentWriteComesAfterACallOfAnotherRankOfItsNode) {
  alone(0, 0, one_);
  call(1, 1, 0, two_);
  alone(0, 500, three_);
  for (const uint32_t rank : {0u, 2u, 3u, 4u, 5u}) call(rank, 1);
  expect_in_the_end();
}

// One thread of rank 0 is back from a call that waits for nobody here. The other tells rank 5 of a write
// before that begins the call.
TEST_F(ThreadsTest, AnIndependentWriteComesBeforeACallThatAnotherRankBeginsLater) {
  alone(0, 0, one_);
  for (uint32_t rank = 0; rank < 5; rank++) call(rank, 1);
  alone(0, 0, two_);
  call(5, 1, 500, three_);
  expect_in_the_end();
}

// Also what was read of the same window before is told anew.
TEST_F(ThreadsTest, AReadSeesACallThatItsRankHasNotBegun) {
  std::vector<std::byte> found(8);
  uint64_t got = 0;
  for (uint32_t rank = 0; rank < kRanks; rank++) call(rank, 1, rank % 2 * 100'000, one_);
  for (int i = 0; i < 100; i++) ASSERT_TRUE(members_[3].file->read(i * 8, found.data(), 8, &got).ok());
  call(5, 2, 0, two_);
  call(0, 2, 1000, three_);
  // Elsewhere first, until it asks about the whole window.
  for (int i = 0; i < 10; i++)
    ASSERT_TRUE(members_[3].file->read(100'000 + i * 8, found.data(), 8, &got).ok());
  expect_read(3);
  expect_read(1);
  for (uint32_t rank = 1; rank < 5; rank++) call(rank, 2);
  expect_in_the_end();
}

// Of each rank one thread makes the collective calls, in which all ranks meet, and another one independent
// writes, each after a message of the rank before it. Who comes later wins.
TEST_F(ThreadsTest, CallsOfTwoThreadsAtOnce) {
  constexpr uint32_t kCalls = 40;
  constexpr uint64_t kOfCalls = 3 * kWindowBytes;
  std::atomic<uint32_t> turn{0};
  const auto collective = [&](uint32_t rank) {
    for (uint32_t number = 1; number <= kCalls; number++) {
      const std::vector<std::byte> data(100, static_cast<std::byte>(number));
      File& file = *members_[rank].file;
      Spanning::of(file).begin_call();
      EXPECT_TRUE(file.append(kOfCalls + (number * kRanks + rank) * 100, data.data(), 100,
                              CallNumber(0, number, false))
                      .ok());
      Spanning::of(file).end_call();
      std::this_thread::sleep_for(std::chrono::microseconds(100 * ((rank * 7 + number) % 5)));
    }
  };
  const auto independent = [&](uint32_t rank) {
    for (uint32_t i = rank; i < 20 * kRanks; i += kRanks) {
      while (turn.load() != i) std::this_thread::yield();
      const std::vector<std::byte> data(1000, static_cast<std::byte>(i));
      EXPECT_TRUE(write_independent(rank, i % 3 * 500, data).ok());
      std::vector<std::byte> found(1000);
      uint64_t got = 0;
      EXPECT_TRUE(members_[(rank + 3) % kRanks].file->read(i % 3 * 500, found.data(), 1000, &got).ok());
      EXPECT_TRUE(got == 1000 && found == data) << i;
      turn.store(i + 1);
    }
  };
  std::vector<std::future<void>> all;
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    all.push_back(std::async(std::launch::async, collective, rank));
    all.push_back(std::async(std::launch::async, independent, rank));
  }
  for (auto& one : all) one.get();
  for (uint32_t i = 0; i < 20 * kRanks; i++) {
    const std::vector<std::byte> data(1000, static_cast<std::byte>(i));
    oracle_.write(i % 3 * 500, data.data(), data.size());
  }
  for (uint32_t number = 1; number <= kCalls; number++) {
    const std::vector<std::byte> data(100 * kRanks, static_cast<std::byte>(number));
    oracle_.write(kOfCalls + number * kRanks * 100, data.data(), data.size());
  }
  expect_in_the_end();
}

}  // namespace
}  // namespace pmio::test
