#include "layout/layout.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

TEST(Layout, WithoutHintsThereIsOneServer) {
  const Layout layout = find_layout(-1, {});
  EXPECT_EQ(layout.servers, 1u);
  EXPECT_EQ(layout.server_of(1 << 30), 0u);
  EXPECT_EQ(layout.next_boundary(0), UINT64_MAX);
}

TEST(Layout, HintsGiveRoundRobinStripes) {
  const Layout layout = find_layout(-1, {100, 3});
  for (uint64_t offset = 0; offset < 1000; ++offset) {
    EXPECT_EQ(layout.server_of(offset), offset / 100 % 3);
    const uint64_t boundary = layout.next_boundary(offset);
    EXPECT_GT(boundary, offset);
    EXPECT_LE(boundary, offset + 100);
    EXPECT_EQ(boundary % 100, 0u);
  }
}

TEST(Layout, HalfOfTheHints) {
  EXPECT_EQ(find_layout(-1, {100, 0}).next_boundary(5), 100u);
  EXPECT_EQ(find_layout(-1, {100, 0}).server_of(250), 0u);
  EXPECT_EQ(find_layout(-1, {0, 4}).servers, 1u);
}

TEST(Layout, BoundaryBeyondTheLastOffset) {
  EXPECT_EQ((Layout{UINT64_MAX / 2, 2}).next_boundary(UINT64_MAX - 1), UINT64_MAX);
  EXPECT_EQ(find_layout(-1, {UINT64_MAX, 2}).servers, 1u);
}

class Fixed final : public LayoutProvider {
 public:
  Fixed(bool known, Layout layout) : known_(known), layout_(layout) {}
  const char* name() const override { return "fixed"; }
  bool find(int, const LayoutHints&, Layout* layout) const override {
    *layout = layout_;
    return known_;
  }

 private:
  bool known_;
  Layout layout_;
};

TEST(Layout, FirstProviderWithASensibleAnswerIsBelieved) {
  const Fixed unknown(false, {7, 7}), senseless(true, {64, 0}), good(true, {64, 2}), late(true, {32, 4});
  const LayoutProvider* const providers[] = {&unknown, &senseless, &good, &late};
  const Layout layout = find_layout(-1, {}, providers);
  EXPECT_EQ(layout.stripe_bytes, 64u);
  EXPECT_EQ(layout.servers, 2u);
  EXPECT_STREQ(layout_providers().back()->name(), "hints");
}

}  // namespace
}  // namespace pmio
