// Which open of the file a call belongs to, and how far the calls of each have come: in the control block as
// the program goes on, and in the open table of every segment when it begins.
#include "node/file_impl.h"

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

void File::Impl::declare(uint32_t entry) {
  owned.back().writer.set_open(entry, entry_of(cell->opens[entry]));
  declared |= 1u << entry;
}

void File::Impl::declare_all() {
  declared = 0;
  table_cell.store(kNoCell, std::memory_order_relaxed);
  for (uint32_t entry = 0; entry < kMaxOpens; entry++) {
    if (cell->opens[entry].ranks.load(std::memory_order_relaxed) != 0) declare(entry);
  }
}

bool File::Impl::attach_for_table() {
  PMIO_ASSERT(!open);
  if (job->past_log.load(std::memory_order_relaxed)) return false;
  auto segment = job->acquire_segment();
  if (!segment.ok() || !attach_segment(*segment).ok()) return false;
  table_cell.store(owned.back().cell, std::memory_order_relaxed);
  return true;
}

void File::Impl::interrupted(CallNumber call) {
  if (call.open == 0) return;
  const uint32_t finished = call.independent ? call.number : call.number - 1;
  cell->opens[call.open - 1].progress.store(progress_of(finished, true), std::memory_order_relaxed);
}

void File::note_empty_call(CallNumber call) {
  Impl& impl = *impl_;
  std::lock_guard lock(impl.append_mutex);
  if (call.open == 0) return;
  impl.finished(call);
  const uint32_t entry = call.open - 1;
  if (!impl.owned.empty() && (impl.declared >> entry & 1) != 0) {
    impl.owned.back().writer.advance_open(entry, call.number);
  } else if (!impl.attach_for_table()) {
    return;
  }
  (void)impl.owned.back().writer.fence();
}

bool File::has_table_only() const {
  const uint32_t of = impl_->table_cell.load(std::memory_order_relaxed);
  return of != Impl::kNoCell && impl_->cell->segments[of].published.load(std::memory_order_relaxed) == 0;
}

uint32_t File::add_open(uint64_t number, uint32_t ranks, uint32_t rank) {
  Impl& impl = *impl_;
  std::lock_guard lock(impl.append_mutex);
  const auto free = [&](uint32_t entry) {
    return impl.cell->opens[entry].ranks.load(std::memory_order_relaxed) == 0;
  };
  // An entry that the open segment has made for an open which is over stays: its records refer to it.
  const uint32_t taken = impl.owned.empty() ? 0 : impl.declared;
  uint32_t entry = 0;
  while (entry < kMaxOpens && (!free(entry) || (taken >> entry & 1) != 0)) entry++;
  if (entry == kMaxOpens) {
    entry = 0;
    while (entry < kMaxOpens && !free(entry)) entry++;
    if (entry == kMaxOpens) return 0;
    impl.seal();
    impl.declared = 0;
  }
  OpenCell& cell = impl.cell->opens[entry];
  cell.rank.store(rank, std::memory_order_relaxed);
  cell.progress.store(progress_of(0, false), std::memory_order_relaxed);
  cell.number.store(number, std::memory_order_relaxed);
  cell.ranks.store(ranks, std::memory_order_release);
  if (impl.open) impl.declare(entry);
  return entry + 1;
}

void File::remove_open(uint32_t open) {
  if (open == 0) return;
  Impl& impl = *impl_;
  std::lock_guard lock(impl.append_mutex);
  OpenCell& cell = impl.cell->opens[open - 1];
  // Durable with the next fence, if there is one: only then will anybody ask.
  for (Impl::Owned& owned : impl.owned)
    owned.writer.close_open(open - 1, cell.number.load(std::memory_order_relaxed));
  cell.ranks.store(0, std::memory_order_relaxed);
}

}  // namespace pmio
