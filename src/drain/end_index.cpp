#include "drain/end_index.h"

#include <algorithm>

namespace pmio {

size_t EndIndex::words(size_t n) {
  if (n == 0) return 0;
  size_t total = 0, count = n;
  do {
    count = level_above(count);
    total += count;
  } while (count > kFanout);
  return total;
}

void EndIndex::build(const Entry* entries, size_t n, uint64_t* words) {
  if (n == 0) return;
  size_t count = level_above(n);
  std::fill(words, words + count, 0);
  for (size_t i = 0; i < n; ++i) words[i / kFanout] = std::max(words[i / kFanout], entries[i].end);
  while (count > kFanout) {
    const size_t above = level_above(count);
    uint64_t* to = words + count;
    std::fill(to, to + above, 0);
    for (size_t i = 0; i < count; ++i) to[i / kFanout] = std::max(to[i / kFanout], words[i]);
    words = to;
    count = above;
  }
}

}  // namespace pmio
