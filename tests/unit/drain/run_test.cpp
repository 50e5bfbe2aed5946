// Runs: sorted whatever the order of arrival, complete answers to every search, with and without a hint.
#include "drain/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "drain/end_index.h"
#include "drain/sort.h"
#include "records.h"

namespace pmio {
namespace {

using test::below;
using test::Random;

bool same(const Entry& a, const Entry& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
bool by_everything(const Entry& a, const Entry& b) {
  return a.offset != b.offset ? a.offset < b.offset : a.end != b.end ? a.end < b.end : older(a, b);
}

std::vector<Entry> normal(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), by_everything);
  return entries;
}

bool equal(std::vector<Entry> a, std::vector<Entry> b) {
  a = normal(std::move(a)), b = normal(std::move(b));
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

// Holds a run in memory that ends where run_bytes says, followed by bytes that must stay as they are.
class BuiltRun {
 public:
  explicit BuiltRun(std::vector<Entry> entries)
      : bytes_(run_bytes(entries.size())), memory_(bytes_ / 8 + 8, kCanary) {
    build_run(entries, memory_.data());
  }
  ~BuiltRun() {
    for (size_t i = (bytes_ + 7) / 8; i < memory_.size(); ++i) EXPECT_EQ(memory_[i], kCanary);
  }
  RunView view() const { return RunView(memory_.data()); }

 private:
  static constexpr uint64_t kCanary = 0xdeadbeefdeadbeef;
  size_t bytes_;
  std::vector<uint64_t> memory_;
};

Entry entry_at(uint64_t offset, uint64_t length, uint32_t number) {
  return {offset, offset + length, number * 7919u % 1000, number % 5, number, length % 2 == 1};
}

// Several ascending sequences, or none, with long entries among them.
std::vector<Entry> random_entries(Random& random, uint64_t n) {
  const uint64_t file_bytes = uint64_t{1} << (4 + below(random, 28)), sequences = 1 + below(random, 9);
  const uint64_t grain = uint64_t{1} << below(random, 4),
                 disorder = below(random, 3) == 0 ? 1 + below(random, 4) : 100;
  std::vector<Entry> entries;
  std::vector<uint64_t> at(sequences);
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t length = below(random, 30) == 0 ? kWindowBytes + below(random, 3) * kWindowBytes / 2
                                                   : 1 + below(random, uint64_t{1} << below(random, 23));
    const uint64_t sequence = i * sequences / n;
    if (below(random, disorder) == 0) at[sequence] = below(random, file_bytes);
    entries.push_back(entry_at(at[sequence] * grain, length, static_cast<uint32_t>(i)));
    at[sequence] += below(random, file_bytes * sequences / n + 2);
  }
  return entries;
}

TEST(Sort, IsStableForEveryOrderOfArrival) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Entry> entries = random_entries(random, below(random, seed < 500 ? 400 : 20'000)),
                       expected = entries;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    std::vector<Entry> scratch(entries.size());
    const Entry* sorted = sort_by_offset(entries.data(), entries.size(), scratch.data());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted, same));
  }
}

TEST(Sort, OffsetsThatUseAllBits) {
  Random random(3);
  std::vector<Entry> entries, scratch(5000);
  for (uint32_t i = 0; i < 5000; ++i) entries.push_back({random(), UINT64_MAX, i, 0, i, 0});
  const Entry* sorted = sort_by_offset(entries.data(), entries.size(), scratch.data());
  EXPECT_TRUE(std::is_sorted(sorted, sorted + 5000,
                             [](const Entry& a, const Entry& b) { return a.offset < b.offset; }));
}

TEST(Run, Empty) {
  const BuiltRun run({});
  std::vector<Entry> found;
  for (const RunView& view : {run.view(), RunView()}) {
    view.find(0, UINT64_MAX, &found);
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(view.next_covered(0), UINT64_MAX);
    EXPECT_TRUE(view.short_entries().empty());
    EXPECT_TRUE(view.long_entries().empty());
  }
}

TEST(Run, HeaderTellsBounds) {
  const BuiltRun run({{100, 200, 5, 1, 1, 0}, {50, 60, 9, 1, 2, 0}, {70, 71 + kWindowBytes, 3, 1, 3, 1}});
  const RunHeader& header = run.view().header();
  EXPECT_EQ(header.short_entries, 2u);
  EXPECT_EQ(header.long_entries, 1u);
  EXPECT_EQ(header.min_stamp_ns, 3u);
  EXPECT_EQ(header.max_stamp_ns, 9u);
  EXPECT_EQ(header.begin, 50u);
  EXPECT_EQ(header.end, 71 + kWindowBytes);
}

void check_structure(const RunView& view, const std::vector<Entry>& entries) {
  const auto by_offset = [](const Entry& a, const Entry& b) { return a.offset < b.offset; };
  const auto shorts = view.short_entries(), longs = view.long_entries();
  ASSERT_TRUE(std::is_sorted(shorts.begin(), shorts.end(), by_offset));
  ASSERT_TRUE(std::is_sorted(longs.begin(), longs.end(), by_offset));
  for (const Entry& entry : shorts) ASSERT_LE(entry.end - entry.offset, kWindowBytes);
  for (const Entry& entry : longs) ASSERT_GT(entry.end - entry.offset, kWindowBytes);
  std::vector<Entry> all(shorts.begin(), shorts.end());
  all.insert(all.end(), longs.begin(), longs.end());
  ASSERT_TRUE(equal(all, entries));
}

void check_search(const RunView& view, const std::vector<Entry>& entries, uint64_t a, uint64_t b,
                  size_t* hint) {
  std::vector<Entry> expected, found;
  uint64_t next = UINT64_MAX;
  for (const Entry& entry : entries) {
    if (entry.offset < b && entry.end > a && a < b) expected.push_back(entry);
    if (entry.end > a) next = std::min(next, std::max(a, entry.offset));
  }
  if (hint != nullptr && a % 2 == 0) view.approach(a, hint);
  view.find(a, b, &found, hint);
  ASSERT_TRUE(equal(found, expected))
      << "[" << a << ", " << b << "): " << found.size() << " for " << expected.size();
  ASSERT_EQ(view.next_covered(a), next) << a;
}

TEST(Run, FindsWhatIntersects) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto entries = random_entries(random, below(random, seed < 380 ? 300 : 9000));
    const BuiltRun run(entries);
    check_structure(run.view(), entries);
    const uint64_t bound = entries.empty() ? 100 : run.view().header().end + 10;
    size_t hint = below(random, 1000), at = 0;
    for (int i = 0; i < 60; ++i) {
      const uint64_t a = i % 3 == 0 ? below(random, bound) : at;
      at = a + below(random, i % 2 == 0 ? bound : bound / 50 + 2);
      ASSERT_NO_FATAL_FAILURE(check_search(run.view(), entries, a, at, i % 5 == 0 ? nullptr : &hint));
    }
    for (size_t i = 0; i < entries.size() && i < 20; ++i) {
      const Entry& entry = entries[below(random, entries.size())];
      for (const uint64_t edge : {entry.offset, entry.end})
        for (const uint64_t a : {edge - (edge > 0), edge, edge + 1})
          ASSERT_NO_FATAL_FAILURE(check_search(run.view(), entries, a, a + 1, &hint));
    }
  }
}

TEST(EndIndex, TheFirstThatReachesBeyond) {
  for (const size_t n : {0, 1, 15, 16, 17, 255, 256, 257, 272, 273, 4096, 4097, 5000}) {
    SCOPED_TRACE(n);
    Random random(n);
    const std::vector<Entry> entries = random_entries(random, n);
    std::vector<uint64_t> words(EndIndex::words(n));
    EndIndex::build(entries.data(), n, words.data());
    const EndIndex index(entries.data(), n, words.data());
    for (size_t i = 0; i < 300; ++i) {
      uint64_t a = UINT64_MAX;
      if (n > 0 && i > 0) a = entries[below(random, n)].end - below(random, 2);
      const auto first =
          std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.end > a; });
      ASSERT_EQ(index.first_beyond(a), static_cast<size_t>(first - entries.begin()));
    }
  }
}

TEST(Run, MergeKeepsWhatIsAskedFor) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Entry> expected;
    std::vector<std::unique_ptr<BuiltRun>> runs;
    std::vector<RunView> views;
    const uint64_t newest = below(random, 1000);
    const auto keep = [&](const Entry& entry) { return entry.stamp_ns <= newest; };
    for (uint64_t n = below(random, 6); n > 0; --n) {
      const auto entries = random_entries(random, below(random, 300));
      std::copy_if(entries.begin(), entries.end(), std::back_inserter(expected), keep);
      runs.push_back(std::make_unique<BuiltRun>(entries));
      views.push_back(runs.back()->view());
    }
    auto merged = merge_runs(views, keep);
    ASSERT_TRUE(equal(merged, expected));
    check_structure(BuiltRun(merged).view(), expected);
  }
}

}  // namespace
}  // namespace pmio
