#include "mpi/tempo.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

constexpr uint64_t kMs = 1'000'000;

// Calls of call_ns, with pause_ns before each but the first.
bool computes(int calls, uint64_t call_ns, uint64_t pause_ns, bool idle = true) {
  Tempo tempo;
  uint64_t now = 1;
  for (int i = 0; i < calls; ++i) {
    if (i > 0) now += pause_ns;
    tempo.begin(now, idle);
    tempo.end(now += call_ns);
  }
  return tempo.computes();
}

TEST(Tempo, ComputesIfThePausesAreLongerThanTheCalls) {
  EXPECT_TRUE(computes(10, 10 * kMs, 50 * kMs));
  EXPECT_FALSE(computes(10, 60 * kMs, 50 * kMs));
}

TEST(Tempo, PausesWithoutAnIdleProcessorDoNotCount) { EXPECT_FALSE(computes(10, kMs, 50 * kMs, false)); }

TEST(Tempo, KnowsNothingAfterOneCall) { EXPECT_FALSE(computes(1, 10 * kMs, 50 * kMs)); }

TEST(Tempo, ShortPausesDoNotCount) { EXPECT_FALSE(computes(100, kMs, 39 * kMs)); }

}  // namespace
}  // namespace pmio
