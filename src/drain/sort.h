// Sorting of entries by offset, for the orders in which logs and searches deliver them: a few ascending
// sequences.
#pragma once

#include <cstddef>

#include "drain/run.h"

namespace pmio {

// Sorts entries[0, n) by offset, stably. scratch: n entries of memory, overwritten. Returns where the result
// is: entries or scratch. O(n) where already sorted, O(n log k) for k ascending sequences, a radix sort where
// they are many.
Entry* sort_by_offset(Entry* entries, size_t n, Entry* scratch);

}  // namespace pmio
