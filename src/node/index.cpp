#include "node/index.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "drain/search.h"
#include "log/segment.h"

namespace pmio {

constexpr size_t kRunEntries =
    2 << 20;  // a merge makes runs of at most this many entries, which bounds its scratch memory
// So little needs no run: to make its file takes longer than to write it.
constexpr size_t kFewEntries = 64;
constexpr uint64_t kFewBytes = 1 << 20;

uint64_t FileIndex::unmerged() const {
  uint64_t unmerged = 0;
  for (uint32_t seat = 0; seat < control_->seats; seat++) {
    const RankCell& of_rank = control_->cells[seat];
    // In this order it may be too much, never too little.
    const uint64_t merged = of_rank.merged_records.load(std::memory_order_acquire);
    unmerged += of_rank.appended.load(std::memory_order_acquire) - merged;
  }
  return unmerged;
}

// Calls visit(record, index, rank, cell) for the records of a cell in [from, to). Without the segment,
// nothing may be taken for merged, and nothing be read around it.
template <class Visit>
static Status walk_cell(const FileControl* control, SegmentMap* map, uint32_t seat, uint32_t c, uint32_t from,
                        uint32_t to, const Visit& visit) {
  const auto bytes = map->map(seat, control->cells[seat].segments[c].slot.load(std::memory_order_relaxed));
  if (bytes.empty()) return map->cannot_map(seat);
  const auto* end = reinterpret_cast<const LogRecord*>(bytes.data() + bytes.size());
  for (uint32_t i = from; i < to; i++) visit(*(end - 1 - i), i, seat, c);
  return {};
}

// How many of a cell's records may be merged: those up to the horizon.
static Result<uint32_t> mergeable(const FileControl* control, SegmentMap* map, uint32_t seat, uint32_t c,
                                  uint32_t from, uint32_t published, uint64_t horizon) {
  const SegmentCell& cell = control->cells[seat].segments[c];
  if (from >= published || cell.max_stamp.load(std::memory_order_relaxed) <= horizon) return published;
  const auto bytes = map->map(seat, cell.slot.load(std::memory_order_relaxed));
  if (bytes.empty()) return map->cannot_map(seat);
  const auto* end = reinterpret_cast<const LogRecord*>(bytes.data() + bytes.size());
  const auto within = [&](size_t i) { return (end - 1 - i)->stamp_ns <= horizon; };
  return static_cast<uint32_t>(first_not(from, published, from, within));
}

void FileIndex::apply_marks_locked(const std::vector<Mark>& marks, size_t records) {
  control_->index_mutex.assert_held();
  for (const Mark& mark : marks) {
    SegmentCell& cell = control_->cells[mark.seat].segments[mark.cell];
    PMIO_ASSERT(mark.merged <= cell.published.load(std::memory_order_relaxed));
    // Release: who sees that a record is merged also sees the run that holds it.
    cell.merged.store(mark.merged, std::memory_order_release);
  }
  count_records(*control_);
  count(counters_->merge_records, records);
}

// Not where somebody reads, who would look into the file for it then, nor where other nodes ask for it.
bool FileIndex::needs_no_run(const std::vector<Entry>& entries) const {
  if (entries.size() > kFewEntries || control_->horizon.load(std::memory_order_relaxed) != UINT64_MAX ||
      control_->index_used.load(std::memory_order_relaxed) != 0)
    return false;
  uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.end - entry.offset;
  return bytes <= kFewBytes;
}

Status FileIndex::flush_locked(std::vector<Entry>& entries, std::vector<Mark>& marks, Leftover* leftover) {
  if (entries.empty()) return {};
  const size_t records = entries.size();
  const bool left_over = leftover != nullptr && (!leftover->entries.empty() || needs_no_run(entries));
  Status status = left_over ? Status(Code::busy, "") : add_run_locked(entries, 0);
  if (status.ok()) {
    apply_marks_locked(marks, records);
  } else {
    if (leftover == nullptr) return status;
    leftover->entries.insert(leftover->entries.end(), entries.begin(), entries.end());
    leftover->marks.insert(leftover->marks.end(), marks.begin(), marks.end());
  }
  entries.clear();
  marks.clear();
  return {};
}

Status FileIndex::merge_locked(Leftover* leftover, uint64_t upto) {
  control_->index_mutex.assert_held();
  // Somebody has died: what is in no run may be drained.
  if (leftover == nullptr && control_->updates_counted.load(std::memory_order_relaxed) !=
                                 control_->ledger_updates.load(std::memory_order_relaxed))
    return {};
  // A round that is going on may have records that are in no run, and counts them as merged at its end. In a
  // run that somebody else makes they would stay undrained.
  std::optional<RobustLock> no_round;
  if (leftover == nullptr && control_->round.exclusive != 0) {
    no_round.emplace(control_->drain_mutex, std::try_to_lock);
    if (!no_round->held()) return {};
  }
  const uint64_t start = monotonic_ns();
  const uint64_t horizon = std::min(upto, control_->horizon.load(std::memory_order_relaxed));
  std::vector<Entry> entries;
  std::vector<Mark> marks;
  entries.reserve(std::min<uint64_t>(unmerged(), kRunEntries));
  for (uint32_t seat = 0; seat < control_->seats; seat++) {
    RankCell& of_rank = control_->cells[seat];
    const uint32_t cells = of_rank.cells.load(std::memory_order_acquire);
    for (uint32_t c = 0; c < cells; c++) {
      SegmentCell& cell = of_rank.segments[c];
      if (cell.salt.load(std::memory_order_acquire) == 0) continue;
      uint32_t from = cell.merged.load(std::memory_order_relaxed);
      const Result<uint32_t> limit =
          mergeable(control_, map_, seat, c, from, cell.published.load(std::memory_order_acquire), horizon);
      if (!limit.ok()) return limit.status();
      while (from < limit.value()) {
        const auto to =
            static_cast<uint32_t>(std::min<uint64_t>(limit.value(), from + (kRunEntries - entries.size())));
        PMIO_TRY(walk_cell(control_, map_, seat, c, from, to,
                           [&](const LogRecord& record, uint32_t i, uint32_t r, uint32_t k) {
                             entries.push_back(entry_of(record, i, r, k));
                           }));
        marks.push_back({seat, c, to});
        from = to;
        if (entries.size() >= kRunEntries) PMIO_TRY(flush_locked(entries, marks, leftover));
      }
    }
  }
  PMIO_TRY(flush_locked(entries, marks, leftover));
  count(counters_->merge_rounds);
  count(counters_->merge_ns, monotonic_ns() - start);
  return {};
}

Result<std::shared_ptr<FileIndex::Mapping>> FileIndex::open_run(uint64_t number) {
  auto region = places_.dram->open(run_name(number), true);
  if (!region.ok() && places_.log != places_.dram) region = places_.log->open(run_name(number), true);
  if (!region.ok()) return region.status();
  auto mapping = std::make_shared<Mapping>();
  mapping->region = std::move(region).value();
  mapping->view = RunView(mapping->region->data());
  return mapping;
}

Result<std::vector<std::shared_ptr<FileIndex::Mapping>>> FileIndex::open_runs(
    std::span<const uint64_t> numbers) {
  std::vector<std::shared_ptr<Mapping>> mappings;
  for (const uint64_t number : numbers) {
    auto mapping = open_run(number);
    if (!mapping.ok()) return mapping.status();
    mappings.push_back(std::move(mapping).value());
  }
  return mappings;
}

Status FileIndex::refresh() {
  if (control_->runs_version.load(std::memory_order_acquire) == seen_version_) return {};
  RobustLock lock(control_->index_mutex);
  std::vector<Listed> listed;
  const RunTable& table = run_table(*control_);
  for (uint32_t i = 0; i < table.count; i++) {
    const RunRef& ref = table.runs[i];
    Listed entry{ref, nullptr};
    for (const Listed& known : listed_) {
      if (known.ref.number == ref.number) entry.mapping = known.mapping;
    }
    if (entry.mapping == nullptr) {
      auto mapping = open_run(ref.number);
      if (!mapping.ok()) return mapping.status();
      entry.mapping = std::move(mapping).value();
    }
    listed.push_back(std::move(entry));
  }
  listed_ = std::move(listed);
  seen_version_ = control_->runs_version.load(std::memory_order_relaxed);
  return {};
}

bool FileIndex::find(uint64_t a, uint64_t b, uint64_t floor, size_t most, std::vector<Entry>* found,
                     Which which) {
  const auto matters = [&](const RunRef& run) {
    const bool drained = (run.flags & kRunDrained) != 0;
    if (which != Which::all && (which == Which::drained) != drained) return false;
    return run.begin < b && run.end > a && !(drained && run.max_stamp <= floor);
  };
  if (listed_.size() > 1)
    for (Listed& run : listed_)
      if (matters(run.ref)) run.mapping->view.approach(a, &run.mapping->hint);
  for (Listed& run : listed_) {
    if (!matters(run.ref)) continue;
    const size_t before = found->size();
    run.mapping->view.find(a, b, found, &run.mapping->hint, most);
    if (found->size() - before > most) return false;
    if ((run.ref.flags & kRunDrained) == 0) continue;
    found->erase(std::remove_if(found->begin() + static_cast<ptrdiff_t>(before), found->end(),
                                [&](const Entry& entry) { return entry.stamp_ns <= floor; }),
                 found->end());
  }
  return true;
}

}  // namespace pmio
