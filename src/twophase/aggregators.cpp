// Which ranks are aggregators.
#include <algorithm>
#include <set>

#include "twophase/two_phase.h"

namespace pmio {
namespace {

uint32_t servers_of(const Layout& layout) {
  std::set<uint32_t> servers;
  for (const LayoutComponent& component : layout.components)
    servers.insert(component.servers.begin(), component.servers.end());
  return servers.empty() ? layout.servers : static_cast<uint32_t>(servers.size());
}

}  // namespace

std::vector<uint32_t> choose_aggregators(const Members& members, const Layout& layout, uint32_t count) {
  const uint32_t nodes = *std::max_element(members.node_of.begin(), members.node_of.end()) + 1;
  std::vector<std::vector<uint32_t>> ranks(nodes);
  for (uint32_t rank = 0; rank < members.ranks(); ++rank) ranks[members.node_of[rank]].push_back(rank);
  if (count == 0) {
    const uint32_t servers = servers_of(layout);
    count = servers > 1 ? std::min(nodes, servers) : nodes;
  }
  count = std::min(count, members.ranks());
  // On a node the chosen ranks are as far from each other as they can be, since neighbours often share
  // caches.
  std::vector<uint32_t> of_node(nodes, 0);
  for (uint32_t left = count; left > 0;)
    for (uint32_t node = 0; node < nodes && left > 0; ++node)
      if (of_node[node] < ranks[node].size()) ++of_node[node], --left;
  std::vector<uint32_t> chosen;
  for (uint32_t turn = 0; chosen.size() < count; ++turn)
    for (uint32_t node = 0; node < nodes; ++node)
      if (turn < of_node[node]) chosen.push_back(ranks[node][turn * ranks[node].size() / of_node[node]]);
  return chosen;
}

}  // namespace pmio
