// Where the ranks are, as the engine needs it.
#pragma once

#include <algorithm>
#include <vector>

#include "twophase/collective.h"

namespace pmio {

struct Places {
  explicit Places(const Members& members);

  uint32_t rank, node;                          // this one's
  uint32_t index = 0;                           // among its node's ranks
  std::vector<uint32_t> leaders;                // the lowest rank of each node
  std::vector<std::vector<uint32_t>> ranks_of;  // each node
  std::vector<uint32_t> node_of;                // of each rank
  const std::vector<uint32_t>& here() const { return ranks_of[node]; }
  // The rank of a node that exchanges bytes with an aggregator of another node: the node's ranks share it.
  uint32_t keeper_on(uint32_t of_node, uint32_t aggregator) const {
    return ranks_of[of_node][aggregator % ranks_of[of_node].size()];
  }
  uint32_t nodes() const { return static_cast<uint32_t>(leaders.size()); }
  uint32_t index_of(uint32_t rank_here) const {
    return static_cast<uint32_t>(std::lower_bound(here().begin(), here().end(), rank_here) - here().begin());
  }
  bool leads() const { return index == 0; }
  // How far it is from one node to another, going up around.
  uint32_t distance(uint32_t from, uint32_t to) const { return (to + nodes() - from) % nodes(); }
};

}  // namespace pmio
