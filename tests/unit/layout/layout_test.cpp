#include <gtest/gtest.h>

#include "layout/provider.h"

namespace pmio {
namespace {

// No file at all: only the hints can tell.
FoundLayout find_by_hints(const LayoutHints& hints) { return find_layout(*storage_of(-1), hints); }

TEST(Layout, WithoutHintsThereIsOneServer) {
  const FoundLayout found = find_by_hints({});
  const Layout& layout = found.layout;
  EXPECT_EQ(layout.servers, 1u);
  EXPECT_EQ(layout.server_of(1 << 30), 0u);
  EXPECT_EQ(layout.next_boundary(0), UINT64_MAX);
  EXPECT_EQ(layout.smallest_stripe_bytes(), UINT64_MAX);
  EXPECT_FALSE(found.known());
}

TEST(Layout, HintsGiveRoundRobinStripes) {
  const auto [layout, provider] = find_by_hints({100, 3});
  EXPECT_STREQ(provider, "hints");
  EXPECT_EQ(layout.smallest_stripe_bytes(), 100u);
  for (uint64_t offset = 0; offset < 1000; ++offset) {
    EXPECT_EQ(layout.server_of(offset), offset / 100 % 3);
    const uint64_t boundary = layout.next_boundary(offset);
    EXPECT_GT(boundary, offset);
    EXPECT_LE(boundary, offset + 100);
    EXPECT_EQ(boundary % 100, 0u);
  }
}

TEST(Layout, HalfOfTheHints) {
  EXPECT_EQ(find_by_hints({100, 0}).layout.next_boundary(5), 100u);
  EXPECT_EQ(find_by_hints({100, 0}).layout.server_of(250), 0u);
  EXPECT_EQ(find_by_hints({0, 4}).layout.servers, 1u);
}

TEST(Layout, BoundaryBeyondTheLastOffset) {
  EXPECT_EQ((Layout{UINT64_MAX / 2, 2, {}}).next_boundary(UINT64_MAX - 1), UINT64_MAX);
  EXPECT_EQ(find_by_hints({UINT64_MAX, 2}).layout.servers, 1u);
}

// [0, 100) on server 2; [100, 300) in stripes of 20 on servers 0, 2, 1; the rest in stripes of 50 on 1 and 0.
Layout three_components() { return {0, 3, {{100, 0, {2}}, {300, 20, {0, 2, 1}}, {UINT64_MAX, 50, {1, 0}}}}; }

TEST(Layout, ComponentsHaveStripesOfTheirOwn) {
  const Layout layout = three_components();
  ASSERT_TRUE(layout.valid());
  EXPECT_EQ(layout.smallest_stripe_bytes(), 20u);
  for (uint64_t offset = 0; offset < 1000; offset++) {
    const std::vector<uint32_t> second{0, 2, 1}, third{1, 0};
    const uint32_t server = offset < 100   ? 2
                            : offset < 300 ? second[offset / 20 % 3]
                                           : third[offset / 50 % 2];
    ASSERT_EQ(layout.server_of(offset), server) << offset;
    const uint64_t boundary = offset < 100   ? 100
                              : offset < 300 ? (offset / 20 + 1) * 20
                                             : (offset / 50 + 1) * 50;
    ASSERT_EQ(layout.next_boundary(offset), boundary) << offset;
  }
  EXPECT_EQ(layout.next_boundary(UINT64_MAX - 1), UINT64_MAX);
}

TEST(Layout, AStripeEndsWithItsComponent) {
  const Layout layout{0, 1, {{110, 40, {0}}, {UINT64_MAX, 0, {0}}}};
  EXPECT_EQ(layout.next_boundary(85), 110u);
  EXPECT_EQ(layout.next_boundary(110), UINT64_MAX);
}

TEST(Layout, WhatIsNoLayout) {
  EXPECT_FALSE((Layout{64, 0, {}}).valid());
  EXPECT_FALSE((Layout{uint64_t{1} << 63, 1, {}}).valid());
  EXPECT_FALSE((Layout{0, 1, {{100, 0, {0}}}}).valid()) << "ends too early";
  EXPECT_FALSE((Layout{0, 1, {{UINT64_MAX, 0, {}}}}).valid()) << "on no server";
  EXPECT_FALSE((Layout{0, 1, {{UINT64_MAX, 0, {1}}}}).valid()) << "on a server there isn't";
  EXPECT_FALSE((Layout{0, 1, {{100, 0, {0}}, {100, 0, {0}}, {UINT64_MAX, 0, {0}}}}).valid()) << "empty";
  EXPECT_FALSE((Layout{0, 1, {{UINT64_MAX, uint64_t{1} << 63, {0}}}}).valid());
}

TEST(Layout, PackedAndUnpackedItIsTheSame) {
  for (const Layout& layout : {Layout{}, Layout{100, 3, {}}, three_components()}) {
    const auto words = pack(layout);
    const auto again = unpack(words);
    ASSERT_TRUE(again);
    EXPECT_EQ(pack(*again), words);
    for (size_t length = 0; length < words.size(); length++)
      EXPECT_FALSE(unpack(std::span(words).first(length))) << length << " words of " << words.size();
  }
  EXPECT_FALSE(unpack(std::vector<uint64_t>{0, 1, UINT64_MAX}));
  EXPECT_FALSE(unpack(std::vector<uint64_t>{0, 1, 1, UINT64_MAX, 0, UINT64_MAX}));
  EXPECT_FALSE(unpack(std::vector<uint64_t>{0, 0, 0}));
}

class Fixed final : public LayoutProvider {
 public:
  explicit Fixed(std::optional<Layout> layout) : layout_(std::move(layout)) {}
  const char* name() const override { return "fixed"; }
  std::optional<Layout> find(const Storage&, const LayoutHints&) const override { return layout_; }

 private:
  std::optional<Layout> layout_;
};

TEST(Layout, FirstProviderWithASensibleAnswerIsBelieved) {
  const Fixed unknown({}), senseless(Layout{64, 0, {}}), good(Layout{64, 2, {}}), late(Layout{32, 4, {}});
  const LayoutProvider* const providers[] = {&unknown, &senseless, &good, &late};
  const Layout layout = find_layout(*storage_of(-1), {}, providers).layout;
  EXPECT_EQ(layout.stripe_bytes, 64u);
  EXPECT_EQ(layout.servers, 2u);
  EXPECT_STREQ(layout_providers().back()->name(), "hints");
}

}  // namespace
}  // namespace pmio
