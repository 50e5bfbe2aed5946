// Whatever a ledger holds, parsing stays inside it. The first byte's lowest bit: put the checksums right
// first.
#include <cstdlib>

#include "base/checksum.h"
#include "log/ledger.h"

#include <cstring>

namespace {

void fix_checksum(std::span<std::byte> slot) {
  pmio::LedgerSlot header;
  if (slot.size() < sizeof header) return;
  std::memcpy(&header, slot.data(), sizeof header);
  const uint64_t length = sizeof header + uint64_t{header.entries} * sizeof(pmio::LedgerEntry);
  if (length > slot.size()) return;
  const size_t from = offsetof(pmio::LedgerSlot, round);
  header.crc = pmio::crc32c(0, slot.data() + from, length - from);
  std::memcpy(slot.data(), &header, sizeof header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size == 0) return 0;
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(input) + 1,
                               reinterpret_cast<const std::byte*>(input) + size);
  const size_t half = bytes.size() / 2;
  if (input[0] & 1) {
    fix_checksum(std::span(bytes).first(half));
    fix_checksum(std::span(bytes).subspan(half, half));
  }
  const pmio::LedgerState state = pmio::parse_ledger(bytes);
  if (state.round == 0 && !state.entries.empty()) std::abort();
  if (sizeof(pmio::LedgerSlot) + state.entries.size() * sizeof(pmio::LedgerEntry) > half && state.round != 0)
    std::abort();
  return 0;
}
