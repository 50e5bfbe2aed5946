// Whatever a control block holds, reading its evidence stays inside it. The first byte's lowest bit: make it
// one of this start of the machine, of as many ranks as there is room for.
#include <cstdlib>
#include <cstring>

#include "node/control.h"
#include "recover/evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size == 0) return 0;
  const bool fix = (input[0] & 1) != 0;
  // Inputs are short: what they leave out is zero.
  const size_t bytes = fix ? pmio::control_bytes(1 + input[0] % 3) : (size - 1) / 8 * 8;
  std::vector<uint64_t> words(bytes / 8 + 1);
  std::memcpy(words.data(), input + 1, std::min(size - 1, bytes));
  if (fix) {
    auto* control = reinterpret_cast<pmio::FileControl*>(words.data());
    control->magic = pmio::kControlMagic;
    control->boot = pmio::this_boot();
    control->seats = 1 + input[0] % 3;
  }
  const auto all = std::as_bytes(std::span(words)).first(bytes);
  const auto evidence = pmio::ControlEvidence::read(all);
  if (fix && !evidence) std::abort();
  if (!evidence) return 0;
  for (const auto& cell : evidence->cells) {
    if (cell.salt == 0 || evidence->find(cell.rank, cell.salt) == nullptr) std::abort();
    const auto bounds = pmio::bounds_of(cell);
    if (bounds && (bounds->offset < 0 || bounds->end() <= bounds->offset)) std::abort();
  }
  return 0;
}
