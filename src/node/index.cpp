#include "node/index.h"

#include <algorithm>
#include <cstring>
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
constexpr uint32_t kTidyRuns = 8;  // so many runs of a kind are tolerated before small ones are merged

std::string FileIndex::run_name(uint64_t number) const {
  return "run-" + places_.key + "-" + std::to_string(number);
}

uint64_t FileIndex::unmerged() const {
  uint64_t unmerged = 0;
  for (uint32_t rank = 0; rank < control_->ranks; rank++) {
    const RankCell& of_rank = control_->cells[rank];
    // In this order it may be too much, never too little.
    const uint64_t merged = of_rank.merged_records.load(std::memory_order_acquire);
    unmerged += of_rank.appended.load(std::memory_order_acquire) - merged;
  }
  return unmerged;
}

// Calls visit(record, index, rank, cell) for the records of a cell in [from, to). Without the segment,
// nothing may be taken for merged, and nothing be read around it.
template <class Visit>
static Status walk_cell(const FileControl* control, SegmentMap* map, uint32_t rank, uint32_t c, uint32_t from,
                        uint32_t to, const Visit& visit) {
  const auto bytes = map->map(rank, control->cells[rank].segments[c].slot.load(std::memory_order_relaxed));
  if (bytes.empty()) return cannot_map(rank);
  const auto* end = reinterpret_cast<const LogRecord*>(bytes.data() + bytes.size());
  for (uint32_t i = from; i < to; i++) visit(*(end - 1 - i), i, rank, c);
  return {};
}

// How many of a cell's records may be merged: those up to the horizon.
static Result<uint32_t> mergeable(const FileControl* control, SegmentMap* map, uint32_t rank, uint32_t c,
                                  uint32_t from, uint32_t published, uint64_t horizon) {
  const SegmentCell& cell = control->cells[rank].segments[c];
  if (from >= published || cell.max_stamp.load(std::memory_order_relaxed) <= horizon) return published;
  const auto bytes = map->map(rank, cell.slot.load(std::memory_order_relaxed));
  if (bytes.empty()) return cannot_map(rank);
  const auto* end = reinterpret_cast<const LogRecord*>(bytes.data() + bytes.size());
  const auto within = [&](size_t i) { return (end - 1 - i)->stamp_ns <= horizon; };
  return static_cast<uint32_t>(first_not(from, published, from, within));
}

void FileIndex::apply_marks_locked(const std::vector<Mark>& marks, size_t records) {
  control_->index_mutex.assert_held();
  for (const Mark& mark : marks) {
    SegmentCell& cell = control_->cells[mark.rank].segments[mark.cell];
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
  // A round that is going on may have records that are in no run, and counts them as merged at its end: in a
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
  for (uint32_t rank = 0; rank < control_->ranks; rank++) {
    RankCell& of_rank = control_->cells[rank];
    const uint32_t cells = of_rank.cells.load(std::memory_order_acquire);
    for (uint32_t c = 0; c < cells; c++) {
      SegmentCell& cell = of_rank.segments[c];
      if (cell.salt.load(std::memory_order_acquire) == 0) continue;
      uint32_t from = cell.merged.load(std::memory_order_relaxed);
      const Result<uint32_t> limit =
          mergeable(control_, map_, rank, c, from, cell.published.load(std::memory_order_acquire), horizon);
      if (!limit.ok()) return limit.status();
      while (from < limit.value()) {
        const auto to =
            static_cast<uint32_t>(std::min<uint64_t>(limit.value(), from + (kRunEntries - entries.size())));
        PMIO_TRY(walk_cell(control_, map_, rank, c, from, to,
                           [&](const LogRecord& record, uint32_t i, uint32_t r, uint32_t k) {
                             entries.push_back(entry_of(record, i, r, k));
                           }));
        marks.push_back({rank, c, to});
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

static void add_run(RunTable& table, const RunRef& ref) {
  PMIO_ASSERT(table.count < kMaxRuns && ref.begin < ref.end);
  table.runs[table.count++] = ref;
  if (!(ref.flags & kRunOnMedium)) table.bytes_dram += run_bytes(ref.entries);
}

static void remove_run(RunTable& table, uint32_t position) {
  PMIO_ASSERT(position < table.count);
  const RunRef ref = table.runs[position];
  table.runs[position] = table.runs[--table.count];
  if (!(ref.flags & kRunOnMedium)) table.bytes_dram -= run_bytes(ref.entries);
}

Result<std::unique_ptr<Region>> FileIndex::create_run_locked(uint64_t number, size_t bytes, uint32_t* flags) {
  if (run_table(*control_).bytes_dram + bytes > places_.dram_bytes) spill_locked(bytes);
  if (run_table(*control_).bytes_dram + bytes <= places_.dram_bytes) {
    auto region = places_.dram->create(run_name(number), bytes);
    if (region.ok()) return region;
  }
  *flags |= kRunOnMedium;
  return places_.log->create(run_name(number), bytes);
}

Status FileIndex::add_run_locked(std::vector<Entry>& entries, uint32_t flags) {
  if (run_table(*control_).count + 8 > kMaxRuns) tidy_locked();
  if (run_table(*control_).count == kMaxRuns) return Status(Code::busy, "the table of runs is full");
  const uint64_t number = control_->next_run++;
  auto region = create_run_locked(number, run_bytes(entries.size()), &flags);
  if (!region.ok()) return region.status();
  build_run(entries, (*region)->data());
  const RunHeader& header = RunView((*region)->data()).header();
  add_run(copy_runs(*control_),
          {number, entries.size(), header.begin, header.end, header.max_stamp_ns, flags, 0});
  show_runs(*control_);
  return {};
}

// Whoever has the run mapped keeps its mapping.
void FileIndex::remove_name(const RunRef& ref) {
  Medium* place = (ref.flags & kRunOnMedium) ? places_.log : places_.dram;
  (void)place->remove(run_name(ref.number));
}

void FileIndex::remove_run_locked(uint32_t position) {
  control_->index_mutex.assert_held();
  const RunRef ref = run_table(*control_).runs[position];
  remove_run(copy_runs(*control_), position);
  show_runs(*control_);
  remove_name(ref);
}

void FileIndex::remove_all_locked() {
  control_->index_mutex.assert_held();
  while (run_table(*control_).count > 0) remove_run_locked(run_table(*control_).count - 1);
}

void FileIndex::forget_runs_locked() {
  control_->drain_mutex.assert_held();
  control_->index_mutex.assert_held();
  if (run_table(*control_).count == 0) return;
  stop_serving_all(*control_);
  for (uint32_t rank = 0; rank < control_->ranks; rank++) {
    RankCell& of_rank = control_->cells[rank];
    for (uint32_t c = 0; c < of_rank.cells.load(std::memory_order_acquire); c++) {
      SegmentCell& cell = of_rank.segments[c];
      cell.merged.store(cell.drained.load(std::memory_order_relaxed), std::memory_order_release);
    }
  }
  count_records(*control_);
  // In this order: who misses in the segments what it misses in the runs, too, looks again.
  control_->evictions.fetch_add(1, std::memory_order_seq_cst);
  remove_all_locked();
}

// Moves runs to the log medium, largest first, until `bytes` more fit into DRAM.
void FileIndex::spill_locked(size_t bytes) {
  if (places_.dram == places_.log) return;
  while (run_table(*control_).bytes_dram + bytes > places_.dram_bytes) {
    RunTable& table = copy_runs(*control_);
    RunRef* largest = nullptr;
    for (uint32_t i = 0; i < table.count; i++) {
      RunRef& ref = table.runs[i];
      if (!(ref.flags & (kRunOnMedium | kRunDraining)) &&
          (largest == nullptr || ref.entries > largest->entries)) {
        largest = &ref;
      }
    }
    if (largest == nullptr) return;
    auto mapping = open_run(largest->number);
    const uint64_t number = control_->next_run++;
    if (!mapping.ok()) return;
    auto region = places_.log->create(run_name(number), run_bytes(largest->entries));
    if (!region.ok()) return;
    std::memcpy((*region)->data(), (*mapping)->region->data(), run_bytes(largest->entries));
    const RunRef spilled = *largest;
    table.bytes_dram -= run_bytes(spilled.entries);
    largest->number = number;
    largest->flags |= kRunOnMedium;
    show_runs(*control_);
    remove_name(spilled);
  }
}

// Merges the smaller runs among the drained (or the dirty) ones into one, so that their number stays
// logarithmic: the next larger run takes part as long as it is at most four times the sum of the smaller
// ones.
bool FileIndex::compact_locked(uint32_t drained) {
  std::vector<RunRef> candidates;
  const RunTable& before = run_table(*control_);
  for (uint32_t i = 0; i < before.count; i++) {
    const RunRef& ref = before.runs[i];
    if (!(ref.flags & kRunDraining) && (ref.flags & kRunDrained) == drained) candidates.push_back(ref);
  }
  if (candidates.size() <= kTidyRuns) return false;
  std::sort(candidates.begin(), candidates.end(),
            [](const RunRef& a, const RunRef& b) { return a.entries < b.entries; });
  size_t taken = 0;
  uint64_t sum = 0;
  while (taken < candidates.size() && (taken < 2 || candidates[taken].entries <= 4 * sum)) {
    sum += candidates[taken++].entries;
  }
  std::vector<std::shared_ptr<Mapping>> mappings;
  std::vector<RunView> views;
  for (size_t i = 0; i < taken; i++) {
    auto mapping = open_run(candidates[i].number);
    if (!mapping.ok()) return false;
    views.push_back((*mapping)->view);
    mappings.push_back(std::move(mapping).value());
  }
  const uint64_t floor = control_->floor.load(std::memory_order_relaxed);
  std::vector<Entry> entries =
      merge_runs(views, [&](const Entry& entry) { return drained == 0 || entry.stamp_ns > floor; });
  std::optional<RunRef> merged;
  if (!entries.empty()) {
    if (run_table(*control_).count == kMaxRuns) return false;
    uint32_t flags = drained;
    const uint64_t number = control_->next_run++;
    auto region = create_run_locked(number, run_bytes(entries.size()), &flags);
    if (!region.ok()) return false;
    build_run(entries, (*region)->data());
    const RunHeader& header = RunView((*region)->data()).header();
    merged = {number, entries.size(), header.begin, header.end, header.max_stamp_ns, flags, 0};
  }
  // Behind create_run_locked, which may change the table.
  RunTable& table = copy_runs(*control_);
  std::vector<RunRef> gone;
  for (uint32_t i = table.count; i-- > 0;) {
    const bool taken_in = std::any_of(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(taken),
                                      [&](const RunRef& ref) { return ref.number == table.runs[i].number; });
    if (!taken_in) continue;
    gone.push_back(table.runs[i]);
    remove_run(table, i);
  }
  if (merged) add_run(table, *merged);
  show_runs(*control_);
  for (const RunRef& ref : gone) remove_name(ref);
  return true;
}

void FileIndex::tidy_locked() {
  control_->index_mutex.assert_held();
  remove_unserved_locked();
  if (control_->index_used.load(std::memory_order_relaxed) == 0) {
    // Nobody reads: drained runs are only kept as long as they cost nothing.
    const RunTable& table = run_table(*control_);
    uint32_t drained = 0;
    uint64_t newest = control_->floor.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < table.count; i++) {
      if (!(table.runs[i].flags & kRunDrained)) continue;
      drained++;
      newest = std::max(newest, table.runs[i].max_stamp);
    }
    if (drained > kMaxRuns / 4) {
      control_->floor.store(newest, std::memory_order_release);
      remove_unserved_locked();
    }
  } else {
    compact_locked(kRunDrained);
  }
  compact_locked(0);
}

// Drained runs that are not served any more.
void FileIndex::remove_unserved_locked() {
  const uint64_t floor = control_->floor.load(std::memory_order_relaxed);
  for (uint32_t i = run_table(*control_).count; i-- > 0;) {
    const RunRef& ref = run_table(*control_).runs[i];
    if ((ref.flags & kRunDrained) && ref.max_stamp <= floor) remove_run_locked(i);
  }
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
