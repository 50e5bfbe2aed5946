#include "recover/evidence.h"

#include <algorithm>
#include <cstring>

#include "node/control.h"

namespace pmio {

std::optional<ControlEvidence> ControlEvidence::read(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(FileControl)) return {};
  const auto& control = *reinterpret_cast<const FileControl*>(bytes.data());
  const uint32_t seats = control.seats;
  if (control.magic != kControlMagic || bytes.size() != control_bytes(seats)) return {};
  if (control.boot == BootId{} || control.boot != this_boot()) return {};
  ControlEvidence evidence;
  const uint64_t updates = control.ledger_updates.load(std::memory_order_relaxed);
  if (control.ledger_updates_inverted.load(std::memory_order_relaxed) == ~updates)
    evidence.ledger_updates = updates;
  evidence.closing = control.closing.load(std::memory_order_relaxed) != 0;
  for (uint32_t seat = 0; seat < seats; seat++) {
    const RankCell& of_rank = control.cells[seat];
    const uint32_t rank = of_rank.rank;
    if (of_rank.attached.load(std::memory_order_acquire) == kAttached) evidence.is_open = true;
    for (const OpenCell& open : of_rank.opens) {
      const uint32_t size = open.ranks.load(std::memory_order_acquire);
      const uint32_t place = open.rank.load(std::memory_order_relaxed);
      if (size == 0 || size > control.job_ranks || place >= size) continue;
      const uint64_t progress = open.progress.load(std::memory_order_relaxed);
      const uint64_t straight = open.straight.load(std::memory_order_relaxed);
      evidence.opens.push_back({rank, open.number.load(std::memory_order_relaxed), size, place,
                                progress_calls(progress), progress_later(progress), progress_calls(straight),
                                progress_later(straight)});
    }
    for (const SegmentCell& cell : of_rank.segments) {
      const uint64_t salt = cell.salt.load(std::memory_order_relaxed);
      if (salt == 0) continue;
      evidence.cells.push_back({rank, cell.slot.load(std::memory_order_relaxed), salt,
                                cell.published.load(std::memory_order_relaxed),
                                cell.begin.load(std::memory_order_relaxed),
                                cell.end.load(std::memory_order_relaxed)});
    }
  }
  return evidence;
}

const ControlEvidence::Cell* ControlEvidence::find(uint32_t rank, uint64_t salt) const {
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [=](const Cell& cell) { return cell.rank == rank && cell.salt == salt; });
  return found == cells.end() ? nullptr : &*found;
}

std::optional<Vector> bounds_of(const ControlEvidence::Cell& cell) {
  if (cell.begin >= cell.end || cell.end > static_cast<uint64_t>(INT64_MAX)) return {};
  return Vector{static_cast<int64_t>(cell.begin), cell.end - cell.begin, 0, 1};
}

std::optional<Damage> find_damage(const SegmentReader& reader, uint32_t valid,
                                  const ControlEvidence::Cell* cell, bool same_boot) {
  const uint64_t compat = reader.header().compat;
  const bool believed = same_boot || (compat & kDurableFences) != 0 || (compat & kFencedRecords) == 0;
  const auto slots =
      static_cast<uint32_t>((reader.header().segment_bytes - kHeaderBytes) / sizeof(LogRecord));
  const uint32_t fenced = believed ? reader.fenced_records(valid) : 0;
  const uint32_t published = cell == nullptr ? 0 : std::min(cell->published, slots);
  const uint32_t acknowledged = std::max(fenced, published);
  if (acknowledged <= valid) return {};
  Damage damage{valid, acknowledged, {}, 0, cell == nullptr ? std::nullopt : bounds_of(*cell)};
  for (uint32_t index = valid; index < acknowledged; index++) {
    if (!reader.intact(index)) {
      damage.unknown++;
    } else if (damage.lost.size() < kMostRanges) {
      damage.lost.push_back(record_vector(reader.record(index)));
    }
  }
  return damage;
}

}  // namespace pmio
