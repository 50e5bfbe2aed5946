#include "twophase/places.h"

#include "base/status.h"

namespace pmio {

Places::Places(const Members& members)
    : rank(members.rank), node(members.node_of[members.rank]), node_of(members.node_of) {
  ranks_of.resize(*std::max_element(node_of.begin(), node_of.end()) + 1);
  for (uint32_t r = 0; r < members.ranks(); ++r) {
    std::vector<uint32_t>& ranks = ranks_of[node_of[r]];
    if (r == rank) index = static_cast<uint32_t>(ranks.size());
    ranks.push_back(r);
  }
  for (const std::vector<uint32_t>& ranks : ranks_of) {
    PMIO_ASSERT(!ranks.empty());
    leaders.push_back(ranks.front());
  }
}

}  // namespace pmio
