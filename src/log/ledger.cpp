#include "log/ledger.h"

#include <cstring>
#include <optional>

#include "base/checksum.h"

namespace pmio {

namespace {

constexpr size_t kSlotCovered = offsetof(LedgerSlot, round);  // the checksum begins here
constexpr size_t kSlotAlignment = 4096;  // tearing never reaches from one slot into the other

// The state in one slot's bytes, if they are valid.
std::optional<LedgerState> parse_slot(std::span<const std::byte> bytes) {
  LedgerSlot slot;
  if (bytes.size() < sizeof slot) return std::nullopt;
  std::memcpy(&slot, bytes.data(), sizeof slot);
  if (slot.magic != kLedgerMagic || slot.version != kFormatMajor || slot.round == 0) return std::nullopt;
  if (slot.entries > (bytes.size() - sizeof slot) / sizeof(LedgerEntry)) return std::nullopt;
  const size_t length = sizeof slot + slot.entries * sizeof(LedgerEntry);
  if (slot.crc != crc32c(0, bytes.data() + kSlotCovered, length - kSlotCovered)) return std::nullopt;
  LedgerState state{slot.round, slot.target, slot.flags, std::vector<LedgerEntry>(slot.entries)};
  if (slot.entries > 0)
    std::memcpy(state.entries.data(), bytes.data() + sizeof slot, slot.entries * sizeof(LedgerEntry));
  if ((slot.flags & kHasHorizon) != 0) {
    if (state.entries.empty()) return std::nullopt;
    state.horizon = state.entries.back().drained_records;
    state.entries.pop_back();
    state.flags &= ~kHasHorizon;
  }
  return state;
}

std::vector<std::byte> serialise(const LedgerState& state, uint64_t round) {
  std::vector<LedgerEntry> entries = state.entries;
  if (state.horizon) entries.push_back({UINT32_MAX, UINT32_MAX, 0, *state.horizon});
  LedgerSlot slot{};
  slot.magic = kLedgerMagic;
  slot.version = kFormatMajor;
  slot.round = round;
  slot.target = state.target;
  slot.entries = static_cast<uint32_t>(entries.size());
  slot.flags = state.flags | (state.horizon ? kHasHorizon : 0);
  std::vector<std::byte> bytes(sizeof slot + entries.size() * sizeof(LedgerEntry));
  std::memcpy(bytes.data(), &slot, sizeof slot);
  if (!entries.empty()) std::memcpy(bytes.data() + sizeof slot, entries.data(), bytes.size() - sizeof slot);
  slot.crc = crc32c(0, bytes.data() + kSlotCovered, bytes.size() - kSlotCovered);
  std::memcpy(bytes.data() + offsetof(LedgerSlot, crc), &slot.crc, sizeof slot.crc);
  return bytes;
}

struct Current {
  size_t slot = 1;  // if neither is valid, the next state goes to slot 0
  LedgerState state;
};

Current find_current(std::span<const std::byte> bytes) {
  const size_t slot_bytes = bytes.size() / 2;
  Current current;
  for (size_t i = 0; i < 2; ++i) {
    auto state = parse_slot(bytes.subspan(i * slot_bytes, slot_bytes));
    if (state && state->round > current.state.round) current = {i, std::move(*state)};
  }
  return current;
}

}  // namespace

LedgerState parse_ledger(std::span<const std::byte> bytes) { return find_current(bytes).state; }

Result<Ledger> Ledger::create(Medium& medium, std::string_view name, size_t capacity) {
  const size_t needed = sizeof(LedgerSlot) + (capacity + 1) * sizeof(LedgerEntry);
  const size_t slot_bytes = (needed + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  auto region = medium.create(name, 2 * slot_bytes);
  if (!region.ok()) return region.status();
  Ledger ledger;
  ledger.region_ = std::move(*region);
  return ledger;
}

Result<Ledger> Ledger::open(Medium& medium, std::string_view name, bool read_only) {
  auto region = medium.open(name, read_only);
  if (!region.ok()) return region.status();
  Ledger ledger;
  ledger.region_ = std::move(*region);
  return ledger;
}

Status Ledger::update(const LedgerState& state) {
  const std::span<const std::byte> bytes(region_->data(), region_->size_bytes());
  const size_t slot_bytes = bytes.size() / 2;
  PMIO_ASSERT(slot_bytes >= sizeof(LedgerSlot) && (state.flags & kHasHorizon) == 0);
  const Current current = find_current(bytes);
  const auto written = serialise(state, current.state.round + 1);
  PMIO_ASSERT(written.size() <= slot_bytes);
  // The slot that holds the last state is not touched. So a tear costs the new state and nothing else.
  const size_t offset = (1 - current.slot) * slot_bytes;
  region_->copy(offset, written.data(), written.size());
  region_->flush(offset, written.size());
  Status status = region_->sync();
  if (status.ok()) return status;
  // If the new slot stayed valid, the next update would overwrite the last state that is durable.
  const LedgerSlot none{};
  region_->copy(offset, &none, sizeof none);
  region_->flush(offset, sizeof none);
  (void)region_->sync();
  return status;
}

LedgerState Ledger::read() const {
  return parse_ledger(std::span<const std::byte>(region_->data(), region_->size_bytes()));
}

}  // namespace pmio
