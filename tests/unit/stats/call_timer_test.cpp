#include "stats/call_timer.h"

#include <gtest/gtest.h>

#include <random>

namespace pmio {
namespace {

// Calls of known length, on a clock of their own.
class CallTimerTest : public testing::Test {
 protected:
  void call(uint64_t bytes, uint64_t ns, bool slow = false) {
    const uint64_t begin = now_;
    if (slow) timer_.slow();
    now_ += ns;
    total_ns_ += ns;
    timer_.done(bytes, begin, [this] {
      looks_++;
      return now_;
    });
    now_ += 5000;
  }
  double told() const { return static_cast<double>(timer_.total_ns()) / static_cast<double>(total_ns_); }

  CallTimer timer_;
  uint64_t now_ = 1'000'000, total_ns_ = 0, looks_ = 0;
};

TEST_F(CallTimerTest, AFewCallsAreMeasured) {
  for (uint64_t ns : {40'000'000, 300, 500, 200, 7'000'000}) call(8, ns);
  EXPECT_EQ(timer_.total_ns(), total_ns_);
}

TEST_F(CallTimerTest, SlowCallsStandForThemselvesAlone) {
  // Of a period that a look at every 16th call would only ever meet the slow ones with, and of others.
  for (int period : {16, 15, 4, 2, 1}) {
    for (int i = 0; i < 4000; i++) call(8, i % period == 0 ? 3'000'000 : 250, i % period == 0);
    EXPECT_NEAR(told(), 1, 0.001) << period;
  }
}

TEST_F(CallTimerTest, SmallAndLargeCallsAreWeighed) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; i++) {
    const uint64_t bytes = random() % 10 == 0 ? random() % 1'000'000 : random() % 4000;
    call(bytes, 200 + bytes / 5 + random() % 100);
  }
  EXPECT_NEAR(told(), 1, 0.05);
}

TEST_F(CallTimerTest, FastCallsAreSampled) {
  for (int i = 0; i < 100'000; i++) call(8, i % 2 == 0 ? 200 : 300);
  EXPECT_NEAR(told(), 1, 0.05);
  EXPECT_LT(looks_, 100'000u / 15);
  EXPECT_EQ(timer_.timed_calls(), looks_);
}

TEST_F(CallTimerTest, CallsThatTouchANewPageAreMetAsOftenAsTheyCome) {
  for (int period : {16, 32, 64, 128}) {
    for (int phase = 0; phase < period; phase += 5) {
      timer_ = CallTimer();
      total_ns_ = 0;
      for (int i = 0; i < 100'000; i++) call(8, i % period == phase ? 2500 : 250);
      EXPECT_NEAR(told(), 1, 0.15) << period << " " << phase;
    }
  }
}

TEST_F(CallTimerTest, AThreadThatDidNotRunIsNotMultiplied) {
  for (int when = 1600; when < 1632; when++) {  // in one of these calls the clock is looked at
    timer_ = CallTimer();
    for (int i = 0; i < 10'000; i++) call(8, i == when ? 20'000'000 : 250);
    EXPECT_LT(timer_.total_ns(), 30'000'000u);
  }
}

}  // namespace
}  // namespace pmio
