#include "drain/server_bytes.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

TEST(ServerBytesTest, EachStripeCountsForItsServer) {
  Layout layout;
  layout.stripe_bytes = 100;
  layout.servers = 3;
  ServerBytes bytes(layout);
  bytes.add(50, 300);  // 50 of server 0, all of 1 and 2, 50 of 0 again
  EXPECT_EQ(bytes.take(), (std::vector<uint64_t>{100, 100, 100}));
  bytes.add(399, 1);
  EXPECT_EQ(bytes.take(), (std::vector<uint64_t>{1, 0, 0}));
}

TEST(ServerBytesTest, WithoutStripesThereIsOneServer) {
  ServerBytes bytes{Layout()};
  bytes.add(0, uint64_t{1} << 40);
  EXPECT_EQ(bytes.take(), std::vector<uint64_t>{uint64_t{1} << 40});
}

TEST(ServerBytesTest, PartsOfAFileHaveServersOfTheirOwn) {
  Layout layout;
  layout.components = {{1000, 0, {2}}, {UINT64_MAX, 500, {0, 1}}};
  ServerBytes bytes(layout);
  bytes.add(900, 700);
  EXPECT_EQ(bytes.take(), (std::vector<uint64_t>{500, 100, 100}));
}

}  // namespace
}  // namespace pmio
