// A ledger update is atomic: torn at any byte, either the old or the new state is read.
#include "log/ledger.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

namespace pmio {
namespace {

class LedgerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "pmio-ledger-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    auto medium = open_medium(path, Durability::none);
    ASSERT_TRUE(medium.ok()) << medium.status().message();
    medium_ = std::move(*medium);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::vector<std::byte> contents(const char* name) {
    auto region = medium_->open(name, true);
    EXPECT_TRUE(region.ok());
    return {(*region)->data(), (*region)->data() + (*region)->size_bytes()};
  }

  std::string directory_;
  std::unique_ptr<Medium> medium_;
};

LedgerState state_of(uint64_t seed, size_t entries) {
  std::mt19937_64 random(seed);
  LedgerState state;
  state.target = {random(), random(), random()};
  state.flags = seed % 2 ? kDiscarded : 0;
  for (size_t i = 0; i < entries; ++i)
    state.entries.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(random()), random(), random()});
  return state;
}

bool same(const LedgerState& a, const LedgerState& b) {
  return a.target == b.target && a.flags == b.flags && a.entries.size() == b.entries.size() &&
         (a.entries.empty() ||
          std::memcmp(a.entries.data(), b.entries.data(), a.entries.size() * sizeof(LedgerEntry)) == 0);
}

TEST_F(LedgerTest, EmptyThenAlternating) {
  auto ledger = Ledger::create(*medium_, "ledger", 400);
  ASSERT_TRUE(ledger.ok()) << ledger.status().message();
  EXPECT_EQ(ledger->read().round, 0u);
  for (uint64_t round = 1; round <= 20; ++round) {
    const LedgerState state = state_of(round, round * 20);
    ASSERT_TRUE(ledger->update(state).ok());
    EXPECT_EQ(ledger->read().round, round);
    auto other = Ledger::open(*medium_, "ledger", true);
    ASSERT_TRUE(other.ok());
    EXPECT_TRUE(same(other->read(), state));
  }
  EXPECT_FALSE(Ledger::create(*medium_, "ledger", 1).ok());
  EXPECT_FALSE(Ledger::open(*medium_, "missing", true).ok());
}

TEST_F(LedgerTest, TornAtEveryByte) {
  auto ledger = Ledger::create(*medium_, "ledger", 10);
  ASSERT_TRUE(ledger.ok());
  for (uint64_t round = 1; round <= 4; ++round) {
    const auto before = contents("ledger");
    const LedgerState old_state = ledger->read(), new_state = state_of(round, 3 + round);
    ASSERT_TRUE(ledger->update(new_state).ok());
    const auto after = contents("ledger");
    for (size_t cut = 0; cut <= before.size(); ++cut) {
      auto torn = before;  // the first bytes got there
      std::copy(after.begin(), after.begin() + static_cast<ptrdiff_t>(cut), torn.begin());
      auto rest = after;  // the last bytes got there
      std::copy(before.begin(), before.begin() + static_cast<ptrdiff_t>(cut), rest.begin());
      for (const auto& bytes : {torn, rest}) {
        const LedgerState state = parse_ledger(bytes);
        EXPECT_TRUE((state.round == round && same(state, new_state)) ||
                    (state.round == round - 1 && same(state, old_state)))
            << "round " << round << " cut " << cut;
      }
    }
  }
}

TEST_F(LedgerTest, EveryFlippedBitFallsBackToTheOtherSlot) {
  auto ledger = Ledger::create(*medium_, "ledger", 10);
  ASSERT_TRUE(ledger.ok());
  const LedgerState first = state_of(1, 5), second = state_of(2, 6);
  ASSERT_TRUE(ledger->update(first).ok());
  ASSERT_TRUE(ledger->update(second).ok());
  auto bytes = contents("ledger");
  const size_t slot = bytes.size() / 2;
  for (size_t at = 0; at < sizeof(LedgerSlot) + 6 * sizeof(LedgerEntry); ++at) {
    bytes[slot + at] ^= std::byte{16};
    EXPECT_TRUE(same(parse_ledger(bytes), first)) << at;
    bytes[slot + at] ^= std::byte{16};
  }
  EXPECT_TRUE(same(parse_ledger(bytes), second));
  for (size_t length = 0; length < bytes.size(); length += 13)
    static_cast<void>(parse_ledger(std::span(bytes).first(length)));
  EXPECT_EQ(parse_ledger({}).round, 0u);
}

}  // namespace
}  // namespace pmio
