// The order in which a node writes its windows of a round, and in how many streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pmio {

// All nodes together write in as many streams as the file has I/O servers. Each node has one stream at least
// and kMostStreams at most. A stream writes one window at a time, which bounds what a server is sent at once.
constexpr uint32_t kMostStreams = 8;
uint32_t streams_of_node(uint32_t servers, uint32_t nodes);

struct WindowPlace {
  uint32_t server = 0;
  bool whole = false;  // all of its bytes are written
};

// The windows' positions, in the order in which the windows are to be begun. Whole windows come first. Within
// the whole ones, and within the others, the servers take turns, each with its windows as they are given. So
// streams that each take the next window write to different servers. Every node begins with another server.
std::vector<size_t> window_order(std::span<const WindowPlace> windows, uint32_t servers, uint32_t node,
                                 uint32_t nodes);

}  // namespace pmio
