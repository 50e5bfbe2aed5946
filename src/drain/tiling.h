// Columns: several vectors of one stride whose blocks together leave no hole, for example if each rank writes
// its column of a row-major array. What they cover is known without a look at a single block.
#pragma once

#include <span>
#include <vector>

#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

// The longest range that the vectors are known to cover; empty: none is known. Extents are ignored. The
// vectors may overlap.
Interval tiled_range(std::span<const Vector> vectors);

}  // namespace pmio
