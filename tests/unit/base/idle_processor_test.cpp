// What /proc/loadavg says of the processors.
#include "base/idle_processor.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

TEST(IdleProcessor, IsThereAsLongAsNoMoreThreadsWantToRunThanThereAreProcessors) {
  EXPECT_TRUE(has_idle_processor("0.20 0.18 0.12 1/80 11206\n", 1));
  EXPECT_TRUE(has_idle_processor("9.20 9.18 9.12 2/80 11206\n", 2));
  EXPECT_FALSE(has_idle_processor("0.20 0.18 0.12 3/80 11206\n", 2));
  EXPECT_FALSE(has_idle_processor("0.20 0.18 0.12 129/1200 11206\n", 128));
}

TEST(IdleProcessor, IsTakenToBeThereIfTheSystemDoesNotTell) {
  EXPECT_TRUE(has_idle_processor("", 1));
  EXPECT_TRUE(has_idle_processor("0.20 0.18 0.12", 1));
  EXPECT_TRUE(has_idle_processor("0.20 0.18 0.12 x/80 11206\n", 1));
}

}  // namespace
}  // namespace pmio
