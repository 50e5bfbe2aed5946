// The hint cb_config_list: which hosts' ranks may be aggregators of collective buffering, and how many of
// each.
//
//   list    = entry *("," entry)
//   entry   = host [":" count] | ":" count
//   host    = a name, or "*": each host that no other entry names
//   count   = a number, or "*": all ranks of the host; without one: 1
//
// As ROMIO and Cray's MPI have it: "*:*", "node7:4,node9", "*:2,login:0". Blanks count for nothing. Threads:
// values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pmio {

struct CbConfigEntry {
  std::string host;  // "*": others than those that are named
  uint64_t most = 1;
  static constexpr uint64_t kAll = UINT64_MAX;
  bool operator==(const CbConfigEntry&) const = default;
};

// invalid: it is no such list; the message says what is wrong.
Result<std::vector<CbConfigEntry>> parse_cb_config_list(std::string_view text);

// At most `count` of the ranks, 0: as many as the list allows; hosts: of each rank. The hosts in the order of
// the list, those of "*" in the order of their first ranks; in turn, each host's ranks in their order. A host
// takes the first entry that names it, with or without its domain.
std::vector<uint32_t> choose_by_config_list(std::span<const CbConfigEntry> list,
                                            std::span<const std::string> hosts, uint32_t count);

}  // namespace pmio
