// Which open of the file a call belongs to, and how far the calls of each have come. That is told in the
// control block as the program goes on, and in the open table of every segment when it begins.
#include "node/appender.h"
#include "node/file_opens.h"
#include "node/job_impl.h"

namespace pmio {
namespace {

OpenEntry entry_of(const OpenCell& cell) {
  OpenEntry entry{};
  entry.open = cell.number.load(std::memory_order_relaxed);
  entry.ranks = cell.ranks.load(std::memory_order_relaxed);
  entry.rank = cell.rank.load(std::memory_order_relaxed);
  const uint64_t progress = cell.progress.load(std::memory_order_relaxed);
  entry.begin_call = entry.last_call = progress_calls(progress);
  entry.begin_later = progress_later(progress) ? 1 : 0;
  return entry;
}

}  // namespace

void Appender::declare(uint32_t entry) {
  owned_.back().writer.set_open(entry, entry_of(file_.cell->opens[entry]));
  declared_ |= 1u << entry;
}

void Appender::declare_all() {
  declared_ = 0;
  table_cell_.store(kNoCell, std::memory_order_relaxed);
  for (uint32_t entry = 0; entry < kMaxOpens; entry++) {
    if (file_.cell->opens[entry].ranks.load(std::memory_order_relaxed) != 0) declare(entry);
  }
}

bool Appender::attach_for_table() {
  PMIO_ASSERT(!open_);
  const std::optional<uint32_t> cell = free_cell();
  if (!cell || file_.job->member->is_past_log()) return false;
  auto segment = file_.job->acquire_segment(SegmentPool::Need::little);
  if (!segment.ok() || !attach(*segment, *cell).ok()) return false;
  table_cell_.store(owned_.back().cell, std::memory_order_relaxed);
  return true;
}

void Appender::interrupted(CallNumber call) {
  if (call.open == 0) return;
  const uint32_t finished = call.independent ? call.number : call.number - 1;
  file_.cell->opens[call.open - 1].progress.store(progress_of(finished, true), std::memory_order_relaxed);
}

bool Appender::advance_table(CallNumber call) {
  PMIO_ASSERT(call.open != 0);
  const uint32_t entry = call.open - 1;
  if (owned_.empty() || (declared_ >> entry & 1) == 0) return false;
  owned_.back().writer.advance_open(entry, call.number);
  return true;
}

void Appender::note_empty_call(CallNumber call) {
  const LockGuard lock(mutex);
  if (call.open == 0) return;
  finished(call);
  if (advance_table(call) || attach_for_table()) (void)owned_.back().writer.fence();
}

void Appender::note_exchanged_call(CallNumber call, uint64_t exchange_ns) {
  {
    const LockGuard lock(mutex);
    tally_.calls++;
    tally_.collective++;
    tally_.exchanged++;
    tally_.exchange_ns += exchange_ns;
  }
  note_empty_call(call);
}

bool Appender::has_table_only() const {
  const uint32_t of = table_cell_.load(std::memory_order_relaxed);
  return of != kNoCell && file_.cell->segments[of].published.load(std::memory_order_relaxed) == 0;
}

uint32_t Appender::add_open(uint64_t number, uint32_t ranks, uint32_t rank) {
  const LockGuard lock(mutex);
  const auto free = [&](uint32_t entry) {
    return file_.cell->opens[entry].ranks.load(std::memory_order_relaxed) == 0;
  };
  // An entry that the open segment has made for an open which is over stays: its records refer to it.
  const uint32_t taken = owned_.empty() ? 0 : declared_;
  uint32_t entry = 0;
  while (entry < kMaxOpens && (!free(entry) || (taken >> entry & 1) != 0)) entry++;
  if (entry == kMaxOpens) {
    entry = 0;
    while (entry < kMaxOpens && !free(entry)) entry++;
    if (entry == kMaxOpens) return 0;
    seal();
    declared_ = 0;
  }
  OpenCell& cell = file_.cell->opens[entry];
  cell.rank.store(rank, std::memory_order_relaxed);
  cell.progress.store(progress_of(0, false), std::memory_order_relaxed);
  cell.straight.store(0, std::memory_order_relaxed);
  cell.number.store(number, std::memory_order_relaxed);
  cell.ranks.store(ranks, std::memory_order_release);
  if (open_) declare(entry);
  return entry + 1;
}

void Appender::remove_open(uint32_t open) {
  if (open == 0) return;
  const LockGuard lock(mutex);
  OpenCell& cell = file_.cell->opens[open - 1];
  // Durable with the next fence, if there is one: only then will anybody ask.
  for (Owned& owned : owned_) owned.writer.close_open(open - 1, cell.number.load(std::memory_order_relaxed));
  cell.ranks.store(0, std::memory_order_relaxed);
}

uint32_t FileOpens::add(uint64_t number, uint32_t ranks, uint32_t rank) {
  return appender_.add_open(number, ranks, rank);
}

void FileOpens::remove(uint32_t open) { appender_.remove_open(open); }

void FileOpens::note_empty_call(CallNumber call) { appender_.note_empty_call(call); }

void FileOpens::note_exchanged_call(CallNumber call, uint64_t exchange_ns) {
  appender_.note_exchanged_call(call, exchange_ns);
}

}  // namespace pmio
