#include "node/segment_map.h"

#include <cerrno>
#include <string>

#include "job/pool.h"
#include "log/segment.h"

namespace pmio {

Status SegmentMap::cannot_map(uint32_t seat) const {
  return Status(Code::io, "cannot map a log segment of rank " + std::to_string(names_[seat]), EIO);
}

SegmentMap::~SegmentMap() {
  for (auto& seat : ranks_) delete seat.load(std::memory_order_relaxed);
}

SegmentMap::Rank& SegmentMap::seat_locked(uint32_t seat) {
  Rank* of_rank = ranks_[seat].load(std::memory_order_relaxed);
  if (of_rank == nullptr) {
    of_rank = new Rank;
    ranks_[seat].store(of_rank, std::memory_order_release);
  }
  return *of_rank;
}

Result<std::unique_ptr<Region>> SegmentMap::open_locked(Rank& of_rank, uint32_t seat, uint32_t slot) {
  auto opened = medium_.open(SegmentPool::segment_name(names_[seat], slot), true);
  if (!opened.ok() && opened.status().system_errno() == ENOENT)
    missed_name_.store(true, std::memory_order_relaxed);
  if (opened.ok() || of_rank.copies == nullptr) return opened;
  opened = of_rank.copies->map(slot);
  if (opened.ok()) of_rank.copied.set(slot);
  return opened;
}

void SegmentMap::know(uint32_t seat, uint32_t slot, const Region& own) {
  const LockGuard lock(mutex_);
  const Region* none = nullptr;
  seat_locked(seat).regions[slot].compare_exchange_strong(none, &own, std::memory_order_release);
}

void SegmentMap::know_copies(uint32_t seat, int32_t process, int descriptor) {
  const LockGuard lock(mutex_);
  Rank& of_rank = seat_locked(seat);
  if (of_rank.copies != nullptr) return;
  auto found = FoundCopies::open(process, descriptor);
  if (found.ok()) of_rank.copies = std::move(found).value();
}

bool SegmentMap::reaches(uint32_t seat, uint32_t slot, uint64_t salt, uint32_t records) {
  if (map(seat, slot).empty()) return false;
  const LockGuard lock(mutex_);
  const Rank& of_rank = seat_locked(seat);
  return !of_rank.copied.test(slot) || of_rank.copies->has(slot, salt, records);
}

std::span<const std::byte> SegmentMap::map(uint32_t seat, uint32_t slot) {
  if (seat >= ranks_.size() || slot >= kMaxSlots) return {};
  Rank* of_rank = ranks_[seat].load(std::memory_order_acquire);
  const Region* region =
      of_rank == nullptr ? nullptr : of_rank->regions[slot].load(std::memory_order_acquire);
  if (region == nullptr) {
    const LockGuard lock(mutex_);
    of_rank = &seat_locked(seat);
    region = of_rank->regions[slot].load(std::memory_order_relaxed);
    if (region == nullptr) {
      auto opened = open_locked(*of_rank, seat, slot);
      if (!opened.ok()) return {};
      owned_.push_back(std::move(opened).value());
      region = owned_.back().get();
      // Release: whoever reads the pointer sees the Region behind it.
      of_rank->regions[slot].store(region, std::memory_order_release);
    }
  }
  return {region->data(), region->size_bytes()};
}

bool FileEntrySource::locate(const Entry& entry, Located* located) {
  const uint32_t seat = segment_seat(entry.segment);
  const SegmentCell& cell = control_->cells[seat].segments[segment_cell(entry.segment)];
  const auto bytes = map_->map(seat, cell.slot.load(std::memory_order_relaxed));
  if (bytes.empty()) return false;
  uint64_t position;
  if (entry.vector) {
    const uint64_t from_end = (uint64_t{entry.where} + 1) * sizeof(LogRecord);
    if (from_end + kHeaderBytes > bytes.size()) return false;
    const auto& record = *reinterpret_cast<const LogRecord*>(bytes.data() + bytes.size() - from_end);
    located->range = record_vector(record);
    position = uint64_t{record.data_position} * kDataAlignment;
    // A record that was overwritten meanwhile no longer describes this entry.
    if (located->range.offset != static_cast<int64_t>(entry.offset) ||
        located->range.end() != static_cast<int64_t>(entry.end) || located->range.bytes() != record.length ||
        located->range.block_length == 0 ||
        located->range.stride < static_cast<int64_t>(located->range.block_length)) {
      return false;
    }
  } else {
    located->range = Vector{static_cast<int64_t>(entry.offset), entry.end - entry.offset, 0, 1};
    position = uint64_t{entry.where} * kDataAlignment;
  }
  if (position > bytes.size() || located->range.bytes() > bytes.size() - position) return false;
  located->data = bytes.data() + position;
  return true;
}

Entry entry_of(const LogRecord& record, uint32_t index, uint32_t seat, uint32_t cell) {
  const Vector range = record_vector(record);
  const bool vector = record.kind == static_cast<uint16_t>(RecordKind::vector);
  Entry entry{};
  entry.offset = static_cast<uint64_t>(range.offset);
  entry.end = static_cast<uint64_t>(range.end());
  entry.stamp_ns = record.stamp_ns;
  entry.segment = segment_number(seat, cell);
  entry.where = vector ? index : record.data_position;
  entry.vector = vector;
  return entry;
}

}  // namespace pmio
