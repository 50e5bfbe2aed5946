// The ledger of one file of one job (format.h): how much of each segment is in the target already. The holder
// of the file's drain lock writes it, recovery reads it. update() is atomic: after a crash either the old or
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
  uint32_t flags = 0;  // without kHasHorizon
  std::vector<LedgerEntry> entries;
  // For a file whose ranks are on several nodes: the horizon of the last round that this node has finished.
  // When it finished, all nodes had brought in what they had of earlier calls.
  std::optional<uint64_t> horizon = {};
};

class Ledger {
 public:
  // capacity: the most entries that update() will ever be given, without the horizon.
  static Result<Ledger> create(Medium& medium, std::string_view name, size_t capacity);
  static Result<Ledger> open(Medium& medium, std::string_view name, bool read_only);
  // Durable on return. After an error the state before still counts. state.round is ignored: it becomes the
  // last round + 1.
  Status update(const LedgerState& state);
  LedgerState read() const;  // round == 0: neither slot is valid

 private:
  std::unique_ptr<Region> region_;
};

// Parses the bytes of a ledger file, and trusts nothing in them. If both slots are invalid, the round is 0.
LedgerState parse_ledger(std::span<const std::byte> bytes);

}  // namespace pmio
