// File domains: every accessed byte is in one window of one aggregator, and stripes are shared as the
// alignment allows.
#include "twophase/domains.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace pmio {
namespace {

std::vector<Interval> windows_of(const Domains& domains, uint32_t aggregator) {
  std::vector<Interval> windows;
  Domains::Walk walk = domains.walk(aggregator);
  while (const auto window = walk.next()) windows.push_back(*window);
  return windows;
}

TwoPhaseOptions options(Alignment alignment, uint32_t aggregators, uint64_t stripe_bytes) {
  TwoPhaseOptions options;
  options.alignment = alignment;
  options.layout.stripe_bytes = stripe_bytes;
  for (uint32_t a = 0; a < aggregators; ++a) options.aggregators.push_back(a);
  return options;
}

const std::vector<Interval> kAccessed = {{10, 700}, {705, 1000}, {5000, 5001}, {9999, 30000}};

TEST(Domains, WindowsHoldEachAccessedByteOnce) {
  for (const Alignment alignment : {Alignment::even, Alignment::stripes, Alignment::persistent})
    for (const uint32_t aggregators : {1, 2, 3, 7})
      for (const uint64_t stripe : {1, 64, 1000, 4096, 100000})
        for (const uint64_t window : {1, 100, 4096, 20000}) {
          const TwoPhaseOptions wish = options(alignment, aggregators, stripe);
          const Domains domains(wish, window, kAccessed);
          std::vector<Interval> all;
          uint64_t bytes = 0;
          for (uint32_t a = 0; a < aggregators; ++a) {
            uint64_t end = 0;
            for (const Interval& each : windows_of(domains, a)) {
              ASSERT_LT(each.begin, each.end);
              ASSERT_LE(each.bytes(), window);
              ASSERT_GE(each.begin, end);
              end = each.end;
              all.push_back(each);
              bytes += each.bytes();
            }
          }
          ASSERT_EQ(united(all), kAccessed);
          ASSERT_EQ(bytes, 690 + 295 + 1 + 20001u);
        }
}

// The aggregators that touch each stripe.
std::map<uint64_t, std::set<uint32_t>> stripes_of(Alignment alignment, uint32_t aggregators,
                                                  const std::vector<Interval>& accessed) {
  constexpr uint64_t kStripe = 1000, kWindow = 2500;
  const TwoPhaseOptions wish = options(alignment, aggregators, kStripe);
  const Domains domains(wish, kWindow, accessed);
  std::map<uint64_t, std::set<uint32_t>> stripes;
  for (uint32_t a = 0; a < aggregators; ++a)
    for (const Interval& window : windows_of(domains, a))
      for (uint64_t stripe = window.begin / kStripe; stripe <= (window.end - 1) / kStripe; ++stripe)
        stripes[stripe].insert(a);
  return stripes;
}

TEST(Domains, AlignedOnesShareNoStripe) {
  for (const Alignment alignment : {Alignment::stripes, Alignment::persistent})
    for (const auto& [stripe, aggregators] : stripes_of(alignment, 3, kAccessed))
      EXPECT_EQ(aggregators.size(), 1u) << stripe;
}

TEST(Domains, KnowTheStripesThatTheyShare) {
  for (const uint32_t aggregators : {1, 2, 3, 5, 20})
    for (const auto& accessed :
         {std::vector<Interval>{{0, 12000}}, kAccessed, {{29500, 31000}, {31010, 33000}}}) {
      constexpr uint64_t kStripe = 1000, kWindow = 2500;
      uint64_t shared = 0, told = 0;
      for (const auto& [stripe, touching] : stripes_of(Alignment::even, aggregators, accessed))
        if (touching.size() > 1) shared += touching.size();
      const TwoPhaseOptions wish = options(Alignment::even, aggregators, kStripe);
      const Domains domains(wish, kWindow, accessed);
      for (uint32_t a = 0; a < aggregators; ++a) told += domains.shared_stripes(a);
      EXPECT_EQ(told, shared) << aggregators << " " << accessed.front().begin;
    }
}

TEST(Domains, KnowWholeStripes) {
  const TwoPhaseOptions wish = options(Alignment::stripes, 1, 1000);
  TwoPhaseOptions parts = wish;
  parts.layout.components = {{5000, 1000, {0}}, {UINT64_MAX, 2000, {0, 1}}};
  for (const TwoPhaseOptions* each : {&wish, &std::as_const(parts)}) {
    const Domains domains(*each, 4096, {});
    EXPECT_EQ(domains.whole_stripes({0, 999}), 0u);
    EXPECT_EQ(domains.whole_stripes({0, 1000}), 1000u);
    EXPECT_EQ(domains.whole_stripes({1, 1999}), 0u);
    EXPECT_EQ(domains.whole_stripes({1, 3500}), 2000u);
  }
  const Domains domains(parts, 4096, {});
  EXPECT_EQ(domains.whole_stripes({4000, 9000}), 1000u + 1000u + 2000u) << "a part's first stripe is short";
}

TEST(Domains, PersistentOnesDependOnTheOffsetOnly) {
  std::map<uint64_t, std::set<uint32_t>> all;
  for (const auto& accessed : {std::vector<Interval>{{0, 100000}}, kAccessed, {{29500, 31000}}})
    for (const auto& [stripe, aggregators] : stripes_of(Alignment::persistent, 4, accessed))
      all[stripe].insert(aggregators.begin(), aggregators.end());
  for (const auto& [stripe, aggregators] : all)
    EXPECT_EQ(aggregators, std::set<uint32_t>{static_cast<uint32_t>(stripe % 4)});
}

TEST(Domains, EvenOnesAreEven) {
  const TwoPhaseOptions wish = options(Alignment::even, 4, 1000);
  const Domains domains(wish, 1 << 20, {{100, 4100}});
  for (uint32_t a = 0; a < 4; ++a)
    EXPECT_EQ(windows_of(domains, a), (std::vector<Interval>{{100 + a * 1000, 1100 + a * 1000}}));
}

TEST(Domains, AWindowEndsAtAStripeIfItCan) {
  const TwoPhaseOptions wish = options(Alignment::stripes, 1, 1000);
  const Domains domains(wish, 2500, {{100, 5500}});
  EXPECT_EQ(windows_of(domains, 0), (std::vector<Interval>{{100, 2000}, {2000, 4000}, {4000, 5500}}));
}

TEST(Aggregators, AreSpreadOverNodesFirst) {
  const Members members{0, {0, 0, 0, 0, 1, 1, 2, 2}};
  EXPECT_EQ(choose_aggregators(members, {}, 0), (std::vector<uint32_t>{0, 4, 6}));
  EXPECT_EQ(choose_aggregators(members, {.stripe_bytes = 4096, .servers = 2}, 0),
            (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(choose_aggregators(members, {}, 4), (std::vector<uint32_t>{0, 4, 6, 2}));
  EXPECT_EQ(choose_aggregators(members, {}, 100).size(), 8u);
}

}  // namespace
}  // namespace pmio
