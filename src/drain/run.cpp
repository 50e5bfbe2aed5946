#include "drain/run.h"

#include <algorithm>
#include <cstring>

#include "base/prefetch.h"
#include "base/status.h"
#include "drain/end_index.h"
#include "drain/search.h"
#include "drain/sort.h"

namespace pmio {
namespace {

bool is_long(const Entry& entry) { return entry.end - entry.offset > kWindowBytes; }

// The first of the sorted entries from `from` on that starts at `offset` or after.
size_t first_from(std::span<const Entry> sorted, uint64_t offset, size_t near, size_t from = 0) {
  return first_not(from, sorted.size(), near, [&](size_t i) { return sorted[i].offset < offset; });
}

bool is_near(std::span<const Entry> sorted, size_t hint, uint64_t a) {
  if (hint >= sorted.size()) return false;
  const uint64_t there = sorted[hint].offset;
  return std::max(a, there) - std::min(a, there) < kWindowBytes;
}

// Where to search for a from: where the last search ended, unless that is far away in the file.
size_t near_to(std::span<const Entry> sorted, const EndIndex& index, uint64_t a, const size_t* hint) {
  if (hint != nullptr && is_near(sorted, *hint, a)) return *hint;
  return index.first_beyond(a);
}

// Whether no two of the entries overlap. Asserts the order that every search in a run relies on.
bool are_disjoint(const Entry* sorted, size_t n) {
  uint64_t overlaps = 0, unordered = 0;  // no way out of the loop, so that it is vectorised
  for (size_t i = 1; i < n; ++i) {
    overlaps += sorted[i].offset < sorted[i - 1].end;
    unordered += sorted[i].offset < sorted[i - 1].offset;
  }
  PMIO_ASSERT(unordered == 0);
  return overlaps == 0;
}

// The same for entries that do not overlap each other.
size_t find_in_disjoint(std::span<const Entry> sorted, uint64_t a, uint64_t b, size_t near, size_t most,
                        std::vector<Entry>* found) {
  size_t at = first_not(0, sorted.size(), near, [&](size_t i) { return sorted[i].end <= a; });
  for (size_t taken = 0; at < sorted.size() && sorted[at].offset < b && taken <= most; ++at, ++taken)
    found->push_back(sorted[at]);
  return at;
}

// Appends the entries of `sorted` that intersect [a, b), or more than `most` of them; returns the position of
// b.
size_t find_in(std::span<const Entry> sorted, const EndIndex& index, uint64_t a, uint64_t b, size_t near,
               size_t most, std::vector<Entry>* found) {
  const size_t from = first_from(sorted, a, near);
  const size_t to = first_from(sorted, b, from, from);
  const size_t taken = to - from > most ? most + 1 : to - from;
  found->insert(found->end(), sorted.begin() + static_cast<ptrdiff_t>(from),
                sorted.begin() + static_cast<ptrdiff_t>(from + taken));
  if (taken > most) return to;
  size_t room = most + 1 - taken;
  index.beyond(a, from, [&](const Entry& entry) {
    found->push_back(entry);
    return --room > 0;
  });
  return to;
}

uint64_t next_in(std::span<const Entry> sorted, const EndIndex& index, uint64_t a) {
  const size_t at = index.first_beyond(a);
  return at < sorted.size() ? std::max(a, sorted[at].offset) : UINT64_MAX;
}

RunHeader summary_of(std::span<const Entry> entries) {
  RunHeader header{};
  header.begin = header.min_stamp_ns = UINT64_MAX;
  for (const Entry& entry : entries) {
    header.long_entries += is_long(entry);
    header.max_stamp_ns = std::max(header.max_stamp_ns, entry.stamp_ns);
    header.min_stamp_ns = std::min(header.min_stamp_ns, entry.stamp_ns);
    header.begin = std::min(header.begin, entry.offset);
    header.end = std::max(header.end, entry.end);
  }
  // What find relies on for the range of a run, and what wins.
  PMIO_ASSERT(entries.empty() || (header.begin < header.end && header.min_stamp_ns <= header.max_stamp_ns));
  header.short_entries = entries.size() - header.long_entries;
  return header;
}

// The result's memory is the sort's scratch memory, so that the last merge usually lands there.
void sort_into(Entry* from, size_t n, Entry* to) {
  const Entry* sorted = sort_by_offset(from, n, to);
  if (sorted != to && n > 0) std::memcpy(to, sorted, n * sizeof(Entry));
}

}  // namespace

RunView::RunView(const void* memory)
    : header_(static_cast<const RunHeader*>(memory)), entries_(reinterpret_cast<const Entry*>(header_ + 1)) {
  PMIO_ASSERT(reinterpret_cast<uintptr_t>(memory) % alignof(Entry) == 0);
}

std::span<const Entry> RunView::short_entries() const {
  if (header_ == nullptr) return {};
  return {entries_, header_->short_entries};
}

std::span<const Entry> RunView::long_entries() const {
  if (header_ == nullptr) return {};
  return {entries_ + header_->short_entries, header_->long_entries};
}

EndIndex RunView::short_index() const {
  const auto longs = long_entries();
  return {entries_, header_->short_entries, reinterpret_cast<const uint64_t*>(longs.data() + longs.size())};
}

EndIndex RunView::long_index() const {
  const auto longs = long_entries();
  const auto* words = reinterpret_cast<const uint64_t*>(longs.data() + longs.size());
  return {longs.data(), longs.size(), words + EndIndex::words(header_->short_entries)};
}

void RunView::find(uint64_t a, uint64_t b, std::vector<Entry>* found, size_t* hint, size_t most) const {
  if (header_ == nullptr || a >= b || a >= header_->end || b <= header_->begin) return;
  const auto shorts = short_entries(), longs = long_entries();
  const size_t near = near_to(shorts, short_index(), a, hint);
  if (header_->disjoint != 0) {
    const size_t ended = find_in_disjoint(shorts, a, b, near, most, found);
    if (hint != nullptr) *hint = ended;
    return;
  }
  const size_t ended = find_in(shorts, short_index(), a, b, near, most, found);
  if (hint != nullptr) *hint = ended;
  if (!longs.empty())
    find_in(longs, long_index(), a, b, near_to(longs, long_index(), a, nullptr), most, found);
}

void RunView::approach(uint64_t a, size_t* hint) const {
  if (header_ == nullptr) return;
  const auto shorts = short_entries();
  if (is_near(shorts, *hint, a)) return;
  *hint = short_index().near_beyond(a);
  const size_t ahead = std::min(shorts.size() - *hint, EndIndex::kFanout);
  prefetch_to_read(reinterpret_cast<const std::byte*>(shorts.data() + *hint), ahead * sizeof(Entry));
}

uint64_t RunView::next_covered(uint64_t a) const {
  if (header_ == nullptr || a >= header_->end) return UINT64_MAX;
  return std::min(next_in(short_entries(), short_index(), a), next_in(long_entries(), long_index(), a));
}

size_t run_bytes(size_t entries) {
  // The entries are split into two indexes. These take at most one number per level more than one index does.
  constexpr size_t kSplitWords = 16;
  return sizeof(RunHeader) + entries * sizeof(Entry) +
         (EndIndex::words(entries) + kSplitWords) * sizeof(uint64_t);
}

void build_run(std::vector<Entry>& entries, void* memory) {
  PMIO_ASSERT(reinterpret_cast<uintptr_t>(memory) % alignof(Entry) == 0);
  auto* header = static_cast<RunHeader*>(memory);
  *header = summary_of(entries);
  auto* shorts = reinterpret_cast<Entry*>(header + 1);
  Entry* longs = shorts + header->short_entries;
  if (header->long_entries > 0)
    std::stable_partition(entries.begin(), entries.end(), [](const Entry& entry) { return !is_long(entry); });
  sort_into(entries.data(), header->short_entries, shorts);
  sort_into(entries.data() + header->short_entries, header->long_entries, longs);
  const bool disjoint = are_disjoint(shorts, header->short_entries);
  PMIO_ASSERT(std::is_sorted(longs, longs + header->long_entries,
                             [](const Entry& a, const Entry& b) { return a.offset < b.offset; }));
  header->disjoint = header->long_entries == 0 && disjoint;
  auto* words = reinterpret_cast<uint64_t*>(longs + header->long_entries);
  EndIndex::build(shorts, header->short_entries, words);
  EndIndex::build(longs, header->long_entries, words + EndIndex::words(header->short_entries));
}

std::vector<Entry> merge_runs(std::span<const RunView> runs, const std::function<bool(const Entry&)>& keep) {
  size_t most = 0;
  for (const RunView& run : runs) most += run.short_entries().size() + run.long_entries().size();
  std::vector<Entry> kept;
  kept.reserve(most);
  // The runs are put side by side, not interleaved: build_run merges ascending sequences.
  const auto append = [&](std::span<const Entry> entries) {
    for (const Entry& entry : entries)
      if (keep(entry)) kept.push_back(entry);
  };
  for (const RunView& run : runs) append(run.short_entries());
  for (const RunView& run : runs) append(run.long_entries());
  PMIO_ASSERT(kept.size() <= most);
  return kept;
}

}  // namespace pmio
