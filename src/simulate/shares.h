// How many things are dealt evenly, in whole numbers and with nothing left over. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pmio::simulate {

// What member `at` has of the total. The first ones have one more than the others if it is no multiple.
constexpr uint64_t even_share(uint64_t total, uint64_t members, uint64_t at) {
  return total / members + (at < total % members ? 1 : 0);
}

// Those from `first` on, `count` of them, have `each` of what is dealt.
struct Share {
  uint64_t first = 0, count = 0, each = 0;
};

// Appends up to most_classes shares of members [first, first + count), which have as much each.
inline void add_shares(uint64_t first, uint64_t count, uint64_t each, uint64_t most_classes,
                       std::vector<Share>* shares) {
  const uint64_t classes = std::min(count, std::max<uint64_t>(most_classes, 1));
  for (uint64_t at = 0; at < classes; at++) {
    const uint64_t size = even_share(count, classes, at);
    shares->push_back({first, size, each});
    first += size;
  }
}

// The total over so many members, in at most most_classes classes of equal ones, or in one more if the total
// is no multiple of the members.
inline std::vector<Share> dealt(uint64_t total, uint64_t members, uint64_t most_classes) {
  std::vector<Share> shares;
  const uint64_t more = total % members;
  const uint64_t classes_of_more = more * most_classes / members;
  if (more > 0) add_shares(0, more, total / members + 1, classes_of_more, &shares);
  add_shares(more, members - more, total / members, most_classes - classes_of_more, &shares);
  return shares;
}

}  // namespace pmio::simulate
