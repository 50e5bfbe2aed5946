// Searching what is published and not merged, or not drained, yet.
#include <algorithm>

#include "drain/search.h"
#include "log/segment.h"
#include "node/index.h"

namespace pmio {
namespace {

// A merge takes as long as so many searches for each record, and so many for the run that it makes.
constexpr uint64_t kSearchesPerRecord = 8;
constexpr uint64_t kSearchesPerRun = 1 << 13;
// So many records to be scanned at once, or in all, are merged first.
constexpr uint64_t kLongScan = 256;
constexpr uint64_t kMuchScanned = 4096;

// Calls visit(rank, index of the cell, cell, first unmerged, end of the published) for each cell with
// unmerged records.
template <class Visit>
void for_each_unmerged(FileControl* control, const Visit& visit) {
  for (uint32_t seat = 0; seat < control->seats; seat++) {
    RankCell& of_rank = control->cells[seat];
    if (of_rank.appended.load(std::memory_order_acquire) ==
        of_rank.merged_records.load(std::memory_order_acquire)) {
      continue;
    }
    const uint32_t cells = of_rank.cells.load(std::memory_order_acquire);
    for (uint32_t c = 0; c < cells; c++) {
      const SegmentCell& cell = of_rank.segments[c];
      if (cell.salt.load(std::memory_order_acquire) == 0) continue;
      const uint32_t merged = cell.merged.load(std::memory_order_acquire);
      const uint32_t published = cell.published.load(std::memory_order_acquire);
      if (merged < published) visit(seat, c, cell, merged, published);
    }
  }
}

uint64_t end_of(const LogRecord& record) {
  if (record.kind == static_cast<uint16_t>(RecordKind::extent)) return record.file_offset + record.length;
  return static_cast<uint64_t>(record_vector(record).end());
}

// The records of a mapped segment, which go downwards from its end.
class Records {
 public:
  explicit Records(std::span<const std::byte> segment)
      : end_(reinterpret_cast<const LogRecord*>(segment.data() + segment.size())) {}
  const LogRecord& operator[](uint32_t i) const { return *(end_ - 1 - i); }

  // First of the ascending records [from, to) that ends beyond a.
  uint32_t first_beyond(uint64_t a, uint32_t from, uint32_t to, uint32_t near) const {
    const auto ends_before = [&](size_t i) { return end_of((*this)[static_cast<uint32_t>(i)]) <= a; };
    return static_cast<uint32_t>(first_not(from, to, near, ends_before));
  }

 private:
  const LogRecord* end_;
};

}  // namespace

bool FileIndex::merge_is_due() {
  const uint64_t records = unmerged();
  if (records == 0) return false;
  uint64_t to_scan = 0;
  for_each_unmerged(control_, [&](uint32_t, uint32_t, const SegmentCell& cell, uint32_t from, uint32_t to) {
    ++searched_;
    if (cell.unordered.load(std::memory_order_relaxed) != 0) to_scan += to - from;
  });
  scanned_ += to_scan;
  if (to_scan <= kLongScan && scanned_ <= kMuchScanned &&
      searched_ <= kSearchesPerRun + kSearchesPerRecord * records)
    return false;
  scanned_ = searched_ = 0;
  return true;
}

uint64_t FileIndex::undrained_end(uint32_t seat, uint64_t enough) const {
  const RankCell& of_rank = control_->cells[seat];
  if (of_rank.appended.load(std::memory_order_acquire) ==
      of_rank.drained_records.load(std::memory_order_acquire)) {
    return 0;
  }
  uint64_t end = 0;
  for (uint32_t c = of_rank.cells.load(std::memory_order_acquire); c-- > 0 && end < enough;) {
    const SegmentCell& cell = of_rank.segments[c];
    const uint64_t salt = cell.salt.load(std::memory_order_acquire);
    if (salt == 0) continue;
    const uint32_t drained = cell.drained.load(std::memory_order_acquire);
    const uint32_t published = cell.published.load(std::memory_order_acquire);
    if (drained >= published) continue;
    const auto bytes = map_->map(seat, cell.slot.load(std::memory_order_relaxed));
    uint64_t of_cell = 0;
    if (bytes.size() < (uint64_t{published} + 1) * sizeof(LogRecord)) {
      // It cannot be mapped. Nothing in it goes beyond this.
      of_cell = cell.end.load(std::memory_order_relaxed);
    } else {
      const Records records(bytes);
      for (uint32_t i = published; i-- > drained && of_cell < enough;)
        of_cell = std::max(of_cell, end_of(records[i]));
    }
    // Given back meanwhile: all of it is drained, and what was looked at may be something else.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (cell.salt.load(std::memory_order_relaxed) == salt) end = std::max(end, of_cell);
  }
  return end;
}

Status FileIndex::scan_unmerged(uint64_t a, uint64_t b, std::vector<Entry>* found) {
  if (unmerged() == 0) return {};
  Status status;
  unmerged_hints_.resize(size_t{control_->seats} * kMaxSegments);
  for_each_unmerged(
      control_, [&](uint32_t seat, uint32_t c, const SegmentCell& cell, uint32_t from, uint32_t to) {
        // Loaded behind the count: of all records below it.
        if (cell.begin.load(std::memory_order_relaxed) >= b || cell.end.load(std::memory_order_relaxed) <= a)
          return;
        const auto bytes = map_->map(seat, cell.slot.load(std::memory_order_relaxed));
        if (bytes.empty() && from < to) status = map_->cannot_map(seat);
        if (bytes.size() < (uint64_t{to} + 1) * sizeof(LogRecord)) return;
        const Records records(bytes);
        const auto take = [&](uint32_t i) {
          const Entry entry = entry_of(records[i], i, seat, c);
          if (entry.offset < b && entry.end > a) found->push_back(entry);
        };
        // `to` was read before, with acquire: the flag tells of all records below it.
        if (cell.unordered.load(std::memory_order_relaxed) != 0) {
          for (uint32_t i = from; i < to; i++) take(i);
          return;
        }
        uint32_t& hint = unmerged_hints_[size_t{seat} * kMaxSegments + c];
        uint32_t i = records.first_beyond(a, from, to, hint);
        for (; i < to && records[i].file_offset < b; i++) take(i);
        hint = i;
      });
  return status;
}

}  // namespace pmio
