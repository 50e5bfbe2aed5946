// What other nodes have of a window that this node writes for all of them. Threads: any, each with its own
// connections.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "cluster/leaders.h"
#include "drain/pieces.h"

namespace pmio {

struct Fetched {
  std::deque<std::vector<std::byte>> answers;  // what the pieces point into
  std::vector<Piece> pieces;
};

// From all nodes at once.
Result<Fetched> fetch_pieces(Leaders& leaders, uint64_t file, uint64_t round, uint64_t window,
                             std::span<const uint32_t> nodes);

}  // namespace pmio
