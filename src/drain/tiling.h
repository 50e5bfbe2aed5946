// Columns: several vectors of one stride whose blocks together leave no hole, as when each rank writes its
// column of a row-major array. What they cover is then known without looking at a single block.
#pragma once

#include <span>
#include <vector>

#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

// The longest range known to be covered by the vectors (extents are ignored), empty where none is known. They
// may overlap.
Interval tiled_range(std::span<const Vector> vectors);

}  // namespace pmio
