#include "recover/ledgers.h"

#include <algorithm>

#include "drain/target.h"
#include "job/pool.h"

namespace pmio {

// Whether a ledger without a valid slot has ever been updated to the end. The first update touches the first
// slot only; a crash within it leaves the second one zero, and nothing was drained yet.
static bool second_slot_zero(std::span<const std::byte> bytes) {
  const auto second = bytes.subspan(bytes.size() / 2);
  return std::all_of(second.begin(), second.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

void read_ledger(const LogDirectory& directory, const std::string& name, Ledgers* ledgers) {
  auto mapping = directory.map(name);
  if (!mapping.ok()) {
    ledgers->damaged.insert(name);
    return;
  }
  LedgerState state = parse_ledger((*mapping)->bytes());
  if (state.round != 0) {
    ledgers->readable.emplace(name, std::move(state));
  } else if (second_slot_zero((*mapping)->bytes())) {
    ledgers->blank.insert(name);
  } else {
    ledgers->damaged.insert(name);
  }
}

void read_note(const LogDirectory& directory, const std::string& name, Ledgers* ledgers) {
  auto mapping = directory.map(name);
  auto note = mapping.ok() ? parse_nodes_note((*mapping)->bytes()) : std::nullopt;
  if (note) {
    ledgers->notes.push_back(std::move(*note));
  } else {
    ledgers->unreadable_notes.insert(name);
  }
}

void read_control(const LogDirectory& directory, const std::string& name,
                  std::map<std::string, ControlEvidence>* controls) {
  auto mapping = directory.map(name);
  if (!mapping.ok()) return;
  auto evidence = ControlEvidence::read((*mapping)->bytes());
  if (evidence) controls->emplace(name.substr(kControlPrefix.size()), std::move(*evidence));
}

static bool ledger_of(const std::string& name, const FileIdentity& target) {
  const std::string own = "ledger-" + file_key(target);
  return name == own || name.starts_with(own + "-");
}

// How many records of a segment the ledgers say are in the file.
static uint32_t drained_of(const Ledgers& ledgers, const FileIdentity& target, uint32_t rank, uint32_t slot,
                           uint64_t salt) {
  uint64_t drained = 0;
  for (const auto& [name, state] : ledgers.readable) {
    if (!same_file(state.target, target)) continue;
    for (const LedgerEntry& entry : state.entries) {
      if (entry.rank == rank && entry.slot == slot && entry.salt == salt)
        drained = std::max(drained, entry.drained_records);
    }
  }
  return static_cast<uint32_t>(std::min<uint64_t>(drained, UINT32_MAX));
}

void apply_ledgers(const Ledgers& ledgers, FileInfo* file) {
  uint64_t round = 0;
  for (const auto& [name, state] : ledgers.readable) {
    if (!same_file(state.target, file->target)) continue;
    file->ledgers.push_back(name);
    round = std::max(round, state.round);
    if ((state.flags & kDiscarded) != 0) file->discarded = true;
    if ((state.flags & kRecovered) != 0) file->recovered = true;
    file->ledger_horizon = std::max(file->ledger_horizon, state.horizon.value_or(0));
    if (state.horizon) file->of_nodes = true;
  }
  for (SegmentInfo& segment : file->segments)
    segment.drained = drained_of(ledgers, file->target, segment.rank, segment.slot, segment.salt);
  for (const std::string& name : ledgers.blank) {
    if (ledger_of(name, file->target)) file->ledgers.push_back(name);
  }
  for (const std::string& name : ledgers.damaged) {
    if (!ledger_of(name, file->target)) continue;
    file->ledgers.push_back(name);
    file->ledger_damaged = true;
  }
  // The slot that was written last is gone; the one before knows of segments that were used again since.
  const ControlEvidence* control = ledgers.control_of(file->target);
  if (control != nullptr && control->ledger_updates > round) file->ledger_damaged = true;
}

void apply_notes(const Ledgers& ledgers, FileInfo* file) {
  for (const NodesNote& note : ledgers.notes) {
    if (!same_file(note.target, file->target)) continue;
    file->nodes = note.place;
    if (file->paths.empty()) file->paths.push_back(note.path);
  }
  if (file->nodes || ledgers.unreadable_notes.count("nodes-" + file_key(file->target)) != 0)
    file->of_nodes = true;
  const ControlEvidence* control = ledgers.control_of(file->target);
  file->round_ended = control != nullptr && !control->closing;
}

void find_lost_segments(const Ledgers& ledgers, FileInfo* file) {
  const ControlEvidence* control = ledgers.control_of(file->target);
  if (control == nullptr) return;
  for (const ControlEvidence::Cell& cell : control->cells) {
    const bool there = std::any_of(
        file->segments.begin(), file->segments.end(),
        [&cell](const SegmentInfo& known) { return known.rank == cell.rank && known.salt == cell.salt; });
    if (there || cell.published <= drained_of(ledgers, file->target, cell.rank, cell.slot, cell.salt))
      continue;
    file->lost_segments.push_back({SegmentPool::segment_name(cell.rank, cell.slot), cell.rank, cell.slot,
                                   cell.published, bounds_of(cell)});
  }
}

void find_gone_segments(const Ledgers& ledgers, const std::vector<std::string>& names, FileInfo* file) {
  if (file->undrained_records() == 0) return;
  // The control block knows all that were in use: others had been given back, and may be of another file that
  // has been recovered since.
  if (ledgers.control_of(file->target) != nullptr) return;
  for (const auto& [name, state] : ledgers.readable) {
    if (!same_file(state.target, file->target)) continue;
    for (const LedgerEntry& entry : state.entries) {
      const std::string segment = SegmentPool::segment_name(entry.rank, entry.slot);
      if (std::find(names.begin(), names.end(), segment) != names.end()) continue;
      const auto drained = static_cast<uint32_t>(std::min<uint64_t>(entry.drained_records, UINT32_MAX));
      file->gone_segments.push_back({segment, entry.rank, entry.slot, drained});
    }
  }
}

}  // namespace pmio
