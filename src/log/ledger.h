// The ledger of one file of one job (format.h): what of each segment is in the target already. Written by
// whoever holds the file's drain lock; read by recovery. update() is atomic: after a crash either the old or
// the new state is read.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "log/format.h"
#include "medium/medium.h"

namespace pmio {

struct LedgerState {
  uint64_t round = 0;  // 0: no valid slot
  FileIdentity target;
  uint32_t flags = 0;  // but for kHasCut
  std::vector<LedgerEntry> entries;
  // Of a file whose ranks are on several nodes: the cut of the last round that this node has finished. Then
  // all nodes had brought in what they had of calls before it.
  std::optional<uint64_t> cut = {};
};

class Ledger {
 public:
  // capacity: the most entries that update() will ever be given, beside the cut.
  static Result<Ledger> create(Medium& medium, std::string_view name, size_t capacity);
  static Result<Ledger> open(Medium& medium, std::string_view name, bool read_only);
  // Durable on return. An error: the state before still counts. state.round is ignored: it becomes the last
  // round + 1.
  Status update(const LedgerState& state);
  LedgerState read() const;  // round == 0 where neither slot is valid

 private:
  std::unique_ptr<Region> region_;
};

// Parses the bytes of a ledger file, trusting nothing. Both slots invalid: round 0.
LedgerState parse_ledger(std::span<const std::byte> bytes);

}  // namespace pmio
