#include "cluster/window_order.h"

#include <algorithm>

#include "base/status.h"

namespace pmio {

uint32_t streams_of_node(uint32_t servers, uint32_t nodes) {
  return std::clamp((servers + nodes - 1) / nodes, 1u, kMostStreams);
}

std::vector<size_t> window_order(std::span<const WindowPlace> windows, uint32_t servers, uint32_t node,
                                 uint32_t nodes) {
  PMIO_ASSERT(servers > 0 && node < nodes);
  const auto first = static_cast<uint32_t>(uint64_t{servers} * node / nodes);
  std::vector<uint64_t> taken(size_t{servers} * 2, 0);
  struct Turn {
    bool partial;
    uint64_t round;   // how many turns the server has had before
    uint32_t server;  // counted from the node's first
    size_t position;
  };
  std::vector<Turn> turns;
  for (size_t i = 0; i < windows.size(); i++) {
    const uint32_t server = windows[i].server % servers;
    uint64_t& round = taken[size_t{server} * 2 + (windows[i].whole ? 1 : 0)];
    turns.push_back({!windows[i].whole, round++, (server + servers - first) % servers, i});
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    if (a.partial != b.partial) return b.partial;
    return a.round != b.round ? a.round < b.round : a.server < b.server;
  });
  std::vector<size_t> order;
  for (const Turn& turn : turns) order.push_back(turn.position);
  return order;
}

}  // namespace pmio
