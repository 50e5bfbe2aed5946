// What is visible of pieces that overwrite each other: so no other node is sent bytes that nobody will see.
// Threads: values.
#pragma once

#include <vector>

#include "drain/pieces.h"

namespace pmio {

// The cost of a piece that is sent, in bytes, without its own bytes.
constexpr uint64_t kPieceCost = 64;

// Takes away what later pieces overwrite, but not if that leaves more pieces than it is worth. The pieces are
// of one window, in the order in which they overwrite each other. What is left of a piece keeps its stamp and
// its rank.
void drop_overwritten(const Interval& window, std::vector<Piece>* pieces);

}  // namespace pmio
