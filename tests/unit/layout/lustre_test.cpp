// The bytes of lustre.lov, of known layouts and of none.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "layout/lustre_attribute.h"
#include "lustre_bytes.h"

namespace pmio {
namespace {

using namespace lustre_bytes;

constexpr uint64_t kMiB = 1 << 20;

// Where the fields of entry i of a composite layout are.
size_t entry_at(size_t i) { return 32 + 48 * i; }
void set32(std::string* text, size_t at, uint32_t value) {
  std::memcpy(text->data() + at, &value, sizeof value);
}
void set64(std::string* text, size_t at, uint64_t value) {
  std::memcpy(text->data() + at, &value, sizeof value);
}

Layout parsed(const std::string& text) {
  const auto layout = parse_lustre_attribute(text);
  EXPECT_TRUE(layout);
  if (!layout) return {};
  EXPECT_TRUE(layout->valid());
  return *layout;
}

TEST(LustreLayout, PlainVersion1) {
  const Layout layout = parsed(plain1());
  EXPECT_EQ(layout.stripe_bytes, kMiB);
  EXPECT_EQ(layout.servers, 4u);
  EXPECT_TRUE(layout.components.empty()) << "nothing special about it";
}

TEST(LustreLayout, PlainVersion3WithAPool) {
  const Layout layout = parsed(plain3());
  EXPECT_EQ(layout.stripe_bytes, 4 * kMiB);
  EXPECT_EQ(layout.servers, 2u);
}

TEST(LustreLayout, SpecificOsts) {
  std::string text = plain3();
  set32(&text, 0, 0x0BD50BD0);
  EXPECT_EQ(parsed(text).servers, 2u);
}

TEST(LustreLayout, TwoStripesOnOneOst) {
  std::string text = bytes("d00bd10b 01020000 0b00000000000000 0104000002000000 00001000 0300 0000") +
                     object("03") + object("03") + object("01");
  const Layout layout = parsed(text);
  EXPECT_EQ(layout.servers, 2u);
  EXPECT_EQ(layout.server_of(0), layout.server_of(kMiB));
  EXPECT_NE(layout.server_of(0), layout.server_of(2 * kMiB));
  EXPECT_EQ(layout.server_of(0), layout.server_of(3 * kMiB));
  EXPECT_EQ(layout.next_boundary(0), kMiB) << "they are two objects";
}

TEST(LustreLayout, ProgressiveWithThreeComponents) {
  const Layout layout = parsed(progressive());
  ASSERT_EQ(layout.components.size(), 3u);
  EXPECT_EQ(layout.servers, 4u) << "OSTs 7, 2, 4 and 5";
  EXPECT_EQ(layout.next_boundary(0), 4 * kMiB) << "one object";
  EXPECT_EQ(layout.next_boundary(4 * kMiB), 5 * kMiB);
  EXPECT_EQ(layout.next_boundary(64 * kMiB), 68 * kMiB);
  EXPECT_EQ(layout.server_of(0), 0u);
  // Stripes are counted from the beginning of the file, so the second component begins with its stripe 4 % 4.
  EXPECT_EQ(layout.server_of(4 * kMiB), 1u);
  EXPECT_EQ(layout.server_of(5 * kMiB), 0u) << "OST 7 again";
  EXPECT_EQ(layout.server_of(6 * kMiB), 2u);
  EXPECT_EQ(layout.server_of(7 * kMiB), 3u);
  EXPECT_EQ(layout.components[2].servers.size(), 4u) << "asks for all, of which four are known";
}

TEST(LustreLayout, AComponentOnTheMetadataServer) {
  std::string text = progressive();
  set32(&text, 176 + 4, 0x100);
  const Layout layout = parsed(text);
  EXPECT_EQ(layout.servers, 5u) << "the MDT, and OST 7 of the second component";
  EXPECT_EQ(layout.server_of(0), 0u);
  EXPECT_NE(layout.server_of(5 * kMiB), 0u);
  EXPECT_EQ(layout.next_boundary(0), 4 * kMiB);
}

TEST(LustreLayout, AnExtensionBelongsToTheComponentBeforeIt) {
  std::string text = progressive();
  set32(&text, entry_at(2) + 4, 0x40);
  const Layout layout = parsed(text);
  ASSERT_EQ(layout.components.size(), 2u);
  EXPECT_EQ(layout.next_boundary(100 * kMiB), 101 * kMiB);
  set32(&text, entry_at(0) + 4, 0x40);
  EXPECT_FALSE(parse_lustre_attribute(text)) << "nothing to extend";
}

TEST(LustreLayout, AnEmptyComponentIsNone) {
  std::string text = progressive();
  set64(&text, entry_at(1) + 16, 4 * kMiB);
  set64(&text, entry_at(2) + 8, 4 * kMiB);
  EXPECT_EQ(parsed(text).components.size(), 2u);
}

// Two mirrors of the whole file: 1 stripe, and 4 stripes.
std::string mirrored(uint32_t first_flags, uint32_t second_flags) {
  std::string text = progressive();
  text[14] = 2;
  set32(&text, entry_at(0), 0x00010001);
  set32(&text, entry_at(0) + 4, 0x10 | first_flags);
  set64(&text, entry_at(0) + 16, UINT64_MAX);
  set32(&text, entry_at(1), 0x00020002);
  set32(&text, entry_at(1) + 4, 0x10 | second_flags);
  set64(&text, entry_at(1) + 8, 0);
  set64(&text, entry_at(1) + 16, UINT64_MAX);
  return text;
}

TEST(LustreLayout, OfMirrorsTheOneThatIsWritten) {
  EXPECT_EQ(parsed(mirrored(0, 0)).servers, 1u);
  EXPECT_EQ(parsed(mirrored(1, 0)).servers, 4u) << "the first is stale";
  EXPECT_EQ(parsed(mirrored(0, 4)).servers, 4u) << "the second is preferred";
  EXPECT_EQ(parsed(mirrored(0x80, 0)).servers, 4u) << "the first is parity";
  EXPECT_FALSE(parse_lustre_attribute(mirrored(1, 8))) << "stale, offline";
  EXPECT_TRUE(parsed(mirrored(1, 0)).components.empty()) << "one plain component";
}

TEST(LustreLayout, WhatHasNoServers) {
  std::string released = plain1();
  set32(&released, 4, 0x80000001);
  std::string raid1 = plain1();
  set32(&raid1, 4, 0x2);
  std::string no_stripe = plain1();
  set32(&no_stripe, 24, 0);
  std::string gap = progressive();
  set64(&gap, entry_at(1) + 8, 5 * kMiB);
  std::string outside = progressive();
  set32(&outside, entry_at(1) + 24, 0xffffffff);
  std::string none = progressive();
  none[14] = 0;
  const std::string foreign = bytes("d00bd70b 10000000 01000000 00000000 0102030405060708 090a0b0c0d0e0f10");
  for (const std::string& text : {released, raid1, no_stripe, gap, outside, none, foreign, std::string()})
    EXPECT_FALSE(parse_lustre_attribute(text));
}

TEST(LustreLayout, TruncatedAttributes) {
  for (const std::string& whole : {plain1(), plain3(), progressive()}) {
    for (size_t length = 0; length < whole.size(); length++)
      EXPECT_FALSE(parse_lustre_attribute(whole.substr(0, length))) << length << " of " << whole.size();
  }
}

TEST(LustreLayout, AnyBytesAreALayoutOrNone) {
  std::mt19937 random(1);
  for (int round = 0; round < 200000; round++) {
    std::string text = round % 3 == 0 ? plain1() : round % 3 == 1 ? plain3() : progressive();
    for (uint32_t changes = random() % 8; changes > 0; changes--)
      text[random() % text.size()] = static_cast<char>(random() % 2 == 0 ? random() : 0xff);
    if (const auto layout = parse_lustre_attribute(text); layout && layout->valid()) {
      ASSERT_LT(layout->server_of(5 * kMiB), layout->servers);
      ASSERT_GT(layout->next_boundary(5 * kMiB), 5 * kMiB);
    }
  }
}

TEST(LustreLayout, WhatIsAskedFor) {
  EXPECT_EQ(lustre_attribute(1 << 20, 4),
            bytes("d00bd10b 00000000 0000000000000000 0000000000000000 00001000 0400 ffff"));
  EXPECT_EQ(lustre_attribute(0, 100000).substr(28, 2), bytes("d007")) << "no more than there can be";
}

}  // namespace
}  // namespace pmio
