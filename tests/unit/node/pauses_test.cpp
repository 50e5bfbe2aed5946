// When a program's pauses hide the drains of its large writes.
#include "node/pauses.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

constexpr uint64_t kBytes = 50'000'000;  // of a burst: a tenth of a second to drain
constexpr uint64_t kLong = 200'000'000, kShort = 100'000'000;

class PausesTest : public testing::Test {
 protected:
  // A burst of two pieces, and the pause behind it.
  void burst(uint64_t pause_ns, bool idle, bool drained = true) {
    for (int i = 0; i < 2; i++) {
      pauses_.begin(kBytes / 2, now_, drained);
      if (i == 0) hid_ = pauses_.hide_drains();
      pauses_.end(now_ += 10'000'000);
    }
    EXPECT_FALSE(idle_.is_due(now_ + Pauses::kPauseNs - 1));
    if (idle) {
      EXPECT_TRUE(idle_.is_due(now_ + Pauses::kPauseNs));
      idle_.note_idle(now_ + Pauses::kPauseNs);
      EXPECT_FALSE(idle_.is_due(now_ + Pauses::kPauseNs));
    }
    now_ += pause_ns;
  }
  IdleSightings idle_;
  Pauses pauses_{idle_};
  uint64_t now_ = 1'000'000'000;
  bool hid_ = false;  // when the last burst began
};

TEST_F(PausesTest, HideDrainsAfterSomeOfThem) {
  EXPECT_FALSE(idle_.is_due(now_)) << "nothing has been written";
  for (uint32_t i = 0; i < Pauses::kGoodPauses; i++) {
    burst(kLong, true);
    EXPECT_FALSE(hid_) << i;
    EXPECT_EQ(pauses_.wanted_warm_bytes(), i + 1 < Pauses::kGoodPauses ? 0 : kBytes);
  }
  burst(kShort, true);
  EXPECT_TRUE(hid_);
  burst(kLong, true);
  EXPECT_TRUE(hid_) << "the last pause was short, and all is drained nevertheless";
}

TEST_F(PausesTest, DoNotHideThemIfTheyAreShortOrNoProcessorIsIdle) {
  for (int i = 0; i < 6; i++) burst(kShort, true);
  EXPECT_FALSE(hid_);
  for (int i = 0; i < 6; i++) burst(kLong, false);
  EXPECT_FALSE(hid_);
  EXPECT_EQ(pauses_.wanted_warm_bytes(), 0u);
}

TEST_F(PausesTest, DoNotHideThemIfTheProgramWaitsForThem) {
  for (int i = 0; i < 6; i++) {
    burst(kLong, true);
    pauses_.spoil();
  }
  EXPECT_FALSE(hid_);
  for (uint32_t i = 0; i <= Pauses::kGoodPauses + 1; i++) burst(kLong, true);
  EXPECT_TRUE(hid_);
}

TEST_F(PausesTest, StopHidingThemIfSomethingIsLeft) {
  for (uint32_t i = 0; i <= Pauses::kGoodPauses; i++) burst(kLong, true);
  EXPECT_TRUE(hid_);
  burst(kLong, true, false);
  EXPECT_FALSE(hid_);
}

}  // namespace
}  // namespace pmio
