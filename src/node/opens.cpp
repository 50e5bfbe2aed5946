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
  entry.begin_call = entry.last_call = cell.calls.load(std::memory_order_relaxed);
  entry.begin_later = cell.later.load(std::memory_order_relaxed);
  return entry;
}

}  // namespace

void File::Impl::declare(uint32_t entry) {
  owned.back().writer.set_open(entry, entry_of(cell->opens[entry]));
  declared |= 1u << entry;
}

void File::Impl::logged(CallNumber call) {
  if (OpenCell* of = open_of(call)) of->later.store(1, std::memory_order_relaxed);
}

void File::Impl::finished(CallNumber call) {
  OpenCell* of = open_of(call);
  if (of == nullptr || call.independent) return;
  of->calls.store(call.number, std::memory_order_relaxed);
  of->later.store(0, std::memory_order_relaxed);
}

void File::note_empty_call(CallNumber call) {
  Impl& impl = *impl_;
  std::lock_guard lock(impl.append_mutex);
  OpenCell* of = impl.open_of(call);
  if (of == nullptr) return;
  impl.finished(call);
  const uint32_t entry = call.open - 1;
  const bool in_table = !impl.owned.empty() && (impl.declared >> entry & 1) != 0;
  if (!in_table && !impl.make_room().ok()) return;  // the new segment's table says it
  SegmentWriter& writer = impl.owned.back().writer;
  if (in_table) writer.advance_open(entry, call.number);
  (void)writer.fence();
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
  cell.calls.store(0, std::memory_order_relaxed);
  cell.later.store(0, std::memory_order_relaxed);
  cell.number.store(number, std::memory_order_relaxed);
  cell.ranks.store(ranks, std::memory_order_release);
  if (impl.open) impl.declare(entry);
  return entry + 1;
}

void File::remove_open(uint32_t open) {
  if (open == 0) return;
  std::lock_guard lock(impl_->append_mutex);
  impl_->cell->opens[open - 1].ranks.store(0, std::memory_order_relaxed);
}

}  // namespace pmio
