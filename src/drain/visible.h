// What is seen of pieces that overwrite each other, so that no other node is sent what nobody will see.
// Threads: values.
#pragma once

#include <vector>

#include "drain/pieces.h"

namespace pmio {

// What a piece costs where it is sent, beside its bytes.
constexpr uint64_t kPieceCost = 64;

// Takes from pieces of one window, in the order in which they overwrite each other, what later ones
// overwrite; but not where more pieces would be left than that is worth. What is left of a piece keeps its
// stamp and its rank.
void drop_overwritten(const Interval& window, std::vector<Piece>* pieces);

}  // namespace pmio
