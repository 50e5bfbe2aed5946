#include "simulate/station.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "simulate/event_loop.h"
#include "simulate/shares.h"

namespace pmio {
namespace {

using namespace simulate;

TEST(StationTest, OneAfterTheOther) {
  Station station;
  EXPECT_DOUBLE_EQ(station.serve(1, 2, 1).end, 3);
  EXPECT_DOUBLE_EQ(station.serve(1.5, 2, 1).begin, 3);
  EXPECT_DOUBLE_EQ(station.serve(10, 2, 3).end, 16);
  EXPECT_DOUBLE_EQ(station.work_seconds(), 10);
}

TEST(StationTest, AWideOneSharesRequestsEvenly) {
  Station station(4);
  EXPECT_DOUBLE_EQ(station.serve(0, 2, 8).end, 4);  // two for each
  EXPECT_DOUBLE_EQ(station.serve(4, 2, 1).end, 6);  // one is not faster for that
  EXPECT_DOUBLE_EQ(station.work_seconds(), 18);
}

// M/D/1: requests of an equal time arrive at random. By Pollaczek and Khinchin they wait on average
// load / (2 (1 - load)) times that long.
TEST(StationTest, WaitingOfRandomArrivals) {
  std::mt19937_64 random(20261128);
  for (const double load : {0.2, 0.5, 0.8}) {
    Station station;
    double now = 0, waited = 0;
    constexpr int kRequests = 1000000;
    for (int at = 0; at < kRequests; at++) {
      now += -std::log(1 - static_cast<double>(random() >> 11) * 0x1p-53) / load;
      waited += station.serve(now, 1, 1).begin - now;
    }
    const double expected = load / (2 * (1 - load));
    EXPECT_NEAR(waited / kRequests, expected, 0.05 * expected) << load;
  }
}

class Noting final : public Actor {
 public:
  explicit Noting(EventLoop& loop) : loop_(loop) {}
  void wake(uint32_t what) override {
    seen.emplace_back(loop_.now(), what);
    if (what == 7) loop_.at(loop_.now() + 1, *this, 8);
  }
  std::vector<std::pair<double, uint32_t>> seen;

 private:
  EventLoop& loop_;
};

TEST(EventLoopTest, ByTimeAndThenInTheOrderOfAsking) {
  EventLoop loop;
  Noting noting(loop);
  loop.at(2, noting, 1);
  loop.at(1, noting, 7);
  loop.at(2, noting, 2);
  loop.run();
  const std::vector<std::pair<double, uint32_t>> expected{{1, 7}, {2, 1}, {2, 2}, {2, 8}};
  EXPECT_EQ(noting.seen, expected);
  EXPECT_EQ(loop.events(), 4u);
}

TEST(SharesTest, AllIsDealtToAll) {
  for (const uint64_t members : {1u, 7u, 256u, 257u, 1000u})
    for (const uint64_t total : {0u, 1u, 255u, 1000u, 123457u})
      for (const uint64_t classes : {1u, 10u, 256u}) {
        uint64_t sum = 0, next = 0;
        const auto shares = dealt(total, members, classes);
        for (const Share& share : shares) {
          EXPECT_EQ(share.first, next);
          next += share.count;
          sum += share.count * share.each;
        }
        EXPECT_EQ(next, members);
        EXPECT_EQ(sum, total);
        EXPECT_LE(shares.size(), classes + 2);
      }
}

}  // namespace
}  // namespace pmio
