// The table of a file's runs: how a run is made, moved, merged with others and removed. All with
// FileControl::index_mutex held.
#include <algorithm>
#include <cstring>
#include <optional>

#include "node/index.h"

namespace pmio {

constexpr uint32_t kTidyRuns = 8;  // so many runs of a kind are tolerated before small ones are merged

std::string FileIndex::run_name(uint64_t number) const {
  return "run-" + places_.key + "-" + std::to_string(number);
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
  for (uint32_t seat = 0; seat < control_->seats; seat++) {
    RankCell& of_rank = control_->cells[seat];
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
// logarithmic. The next larger run takes part as long as it is at most four times the sum of the smaller
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
    uint64_t newest = 0;
    for (uint32_t i = 0; i < table.count; i++) {
      if (!(table.runs[i].flags & kRunDrained)) continue;
      drained++;
      newest = std::max(newest, table.runs[i].max_stamp);
    }
    if (drained > kMaxRuns / 4) {
      stop_serving_upto(*control_, newest);
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

}  // namespace pmio
