// Sorts entries by offset, and is made for the orders that logs and searches deliver: a few ascending
// sequences.
#pragma once

#include <cstddef>

#include "drain/run.h"

namespace pmio {

// Sorts entries[0, n) by offset, stably. scratch: memory of n entries, which is overwritten. Returns where
// the result is: entries or scratch. It takes O(n) if they are sorted already, and O(n log k) for k ascending
// sequences. Many sequences are sorted by radix.
Entry* sort_by_offset(Entry* entries, size_t n, Entry* scratch);

}  // namespace pmio
