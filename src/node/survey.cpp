#include "node/survey.h"

#include <algorithm>

#include "drain/blocks.h"
#include "drain/pieces.h"
#include "node/file_impl.h"

namespace pmio {

constexpr size_t kMostWindows = 4096;       // kept
constexpr size_t kMostHeld = 8192;          // pieces of a window; of more nothing is told
constexpr uint64_t kMostRangeWindows = 16;  // of a range that is looked at
// Who writes and reads in turn gains nothing by asking for more than it reads.
constexpr uint32_t kPlainQuestions = 2;
constexpr uint32_t kPlainQuestionsInVain = 64;

namespace {

bool meet(const std::vector<Interval>& held, const Vector& range) {
  const auto end = static_cast<uint64_t>(range.end());
  auto piece = std::lower_bound(held.begin(), held.end(), static_cast<uint64_t>(range.offset),
                                [](const Interval& one, uint64_t begin) { return one.end <= begin; });
  for (; piece != held.end() && piece->begin < end; ++piece)
    if (may_share_a_byte(range, {static_cast<int64_t>(piece->begin), piece->bytes(), 0, 1})) return true;
  return false;
}

}  // namespace

// Null where the others cannot tell.
Result<const std::vector<Interval>*> Survey::window(Neighbours& neighbours, uint64_t file, uint64_t number) {
  if (const auto known = windows_.find(number); known != windows_.end()) return &known->second;
  auto told = neighbours.survey(file, calls_, window_bytes(number));
  if (!told.ok()) return told.status();
  if (!told.value().complete) {
    wait_ = kPlainQuestionsInVain;
    return nullptr;
  }
  end_ = std::max(end_, told.value().end);
  synced_ = std::max(synced_, told.value().synced);
  if (windows_.size() == kMostWindows) windows_.clear();
  return &(windows_[number] = std::move(told.value().held));
}

uint64_t Survey::synced() {
  const std::lock_guard lock(mutex_);
  return synced_;
}

Result<bool> Survey::clear_of(Neighbours& neighbours, uint64_t file, uint64_t calls, uint64_t changes,
                              std::span<const Vector> ranges, uint64_t* end) {
  std::lock_guard lock(mutex_);
  if (calls != calls_ || changes != changes_) {
    windows_.clear();
    calls_ = calls;
    changes_ = changes;
    end_ = 0;
    wait_ = kPlainQuestions;
  }
  if (wait_ > 0) {
    wait_--;
    return false;
  }
  for (const Vector& range : ranges) {
    const uint64_t first = static_cast<uint64_t>(range.offset) / kWindowBytes;
    const uint64_t last = (static_cast<uint64_t>(range.end()) - 1) / kWindowBytes;
    if (last - first >= kMostRangeWindows) return false;
    for (uint64_t number = first; number <= last; number++) {
      const auto held = window(neighbours, file, number);
      if (!held.ok()) return held.status();
      if (held.value() == nullptr) return false;
      if (!meet(*held.value(), range)) continue;
      windows_.erase(number);  // to be asked anew: it may have been drained
      return false;
    }
    if (static_cast<uint64_t>(range.end()) > end_) return false;  // the file may be longer by now
  }
  *end = end_;
  return true;
}

// Looked at in this order: whether somebody writes past the log, then what has been; the calls, so that all
// that was published in them is seen; the records, after independent writers have learnt that they are to ask
// again; whether a round is being closed, whose bytes another node may still serve as they were before.
Status File::survey(uint64_t calls, const Interval& bytes, std::vector<Interval>* held, bool* complete) {
  Impl& impl = *impl_;
  Unsynced& unsynced = impl.control->unsynced;
  *complete = !unsynced.writing();
  if (!*complete) return {};
  const Vector all{static_cast<int64_t>(bytes.begin), bytes.bytes(), 0, 1};
  if (unsynced.holds({&all, 1})) PMIO_TRY(unsynced.sync(*impl.target));
  PMIO_TRY(impl.give_up_leases({&all, 1}));
  std::lock_guard lock(impl.read_mutex);
  *complete = calls_finished_here() >= calls;
  if (*complete && !impl.all_drained_here()) PMIO_TRY(impl.survey(calls, bytes, held, complete));
  *complete = *complete && impl.control->closing.load(std::memory_order_acquire) == 0;
  return {};
}

Status File::Impl::survey(uint64_t calls, const Interval& bytes, std::vector<Interval>* held,
                          bool* complete) {
  std::vector<Entry> found;
  PMIO_TRY(index->scan_tail(bytes.begin, bytes.end, &found));
  PMIO_TRY(index->refresh());
  *complete = index->find(bytes.begin, bytes.end, concealed(*control, bytes.begin, bytes.end), kMostHeld * 2,
                          &found, FileIndex::Which::undrained);
  if (!*complete) return {};
  FileEntrySource source(control, job->map.get());
  std::vector<Interval> all;
  for (const Entry& entry : found) {
    if (entry.stamp_ns > last_stamp_of(calls)) continue;
    EntrySource::Located located;
    *complete = source.locate(entry, &located) && all.size() + located.range.count <= kMostHeld * 2;
    if (!*complete) return {};
    const BlockRange blocks = blocks_in(located.range, bytes);
    for (uint64_t i = blocks.first; i < blocks.last; i++)
      all.push_back({std::max(bytes.begin, block_begin(located.range, i)),
                     std::min(bytes.end, block_end(located.range, i))});
  }
  *held = united(std::move(all));
  *complete = held->size() <= kMostHeld;
  return {};
}

}  // namespace pmio
