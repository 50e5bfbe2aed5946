#include "node/idle_sightings.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

constexpr uint64_t kMs = 1'000'000, kStart = 1000 * kMs;

TEST(IdleSightings, AreLookedForInPausesOnly) {
  IdleSightings idle;
  EXPECT_FALSE(idle.is_due(kStart)) << "nothing has been written";
  idle.note_write(kStart);
  EXPECT_FALSE(idle.is_due(kStart + IdleSightings::kPauseNs - 1));
  EXPECT_TRUE(idle.is_due(kStart + IdleSightings::kPauseNs));
}

TEST(IdleSightings, OneIsEnough) {
  IdleSightings idle;
  idle.note_write(kStart);
  EXPECT_FALSE(idle.since(kStart));
  idle.note_idle(kStart + 30 * kMs);
  EXPECT_TRUE(idle.since(kStart));
  EXPECT_FALSE(idle.is_due(kStart + 100 * kMs));
  idle.note_write(kStart + 200 * kMs);
  EXPECT_FALSE(idle.since(kStart + 200 * kMs));
  EXPECT_TRUE(idle.is_due(kStart + 300 * kMs)) << "of the next pause";
}

TEST(IdleSightings, AreLookedForLessOftenTheLongerThePauseIs) {
  IdleSightings idle;
  idle.note_write(kStart);
  int looks = 0;
  uint64_t now = kStart;
  for (; now < kStart + 10'000 * kMs; now += 10 * kMs) looks += idle.is_due(now) ? 1 : 0;
  EXPECT_GE(looks, 10);
  EXPECT_LE(looks, 20);
  idle.note_write(now);
  EXPECT_TRUE(idle.is_due(now + IdleSightings::kPauseNs)) << "the next pause is looked at soon";
}

}  // namespace
}  // namespace pmio
