// Who writes which window in a round: each node its own, where the pieces of the nodes do not mix; else one
// of them. Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cluster/message.h"
#include "node/node_round.h"

namespace pmio {

class RoundPlan {
 public:
  explicit RoundPlan(uint32_t nodes) : nodes_(nodes) {}
  // The answers to `plan`, and to `write`, by node.
  Status read(std::span<const std::vector<std::byte>> answers);
  Status read_mixed(std::span<const std::vector<std::byte>> answers);
  // The requests: `write` for all nodes, `finish` for each.
  MessageWriter work(uint64_t file, uint64_t round) const;
  std::vector<MessageWriter> finish(uint64_t file, uint64_t round) const;

 private:
  struct Part {
    uint64_t window = 0;
    uint32_t node = 0;
    bool exact = false;
    std::vector<Interval> pieces;
  };
  // Calls visit(parts of one window) for each window.
  template <class Visit>
  void for_each_window(const Visit& visit) const;
  static bool mix(std::span<const Part> parts);

  const uint32_t nodes_;
  std::vector<Part> parts_;  // by window, then node
  std::vector<uint64_t> mixed_;
};

}  // namespace pmio
