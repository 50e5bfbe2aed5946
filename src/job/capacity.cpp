#include "job/capacity.h"

#include <algorithm>

#include "job/pool.h"
#include "log/format.h"

namespace pmio {

constexpr uint64_t kLargestDefault = uint64_t{1} << 30;
constexpr uint64_t kSmallestDefault = 16 << 20;
static constexpr uint64_t kSmallest = SegmentPool::kFewestSegments * kMinSegmentBytes;

uint64_t default_capacity(uint64_t free_bytes, uint32_t ranks, std::span<const MemoryLimit> limits) {
  ranks = std::max(1u, ranks);
  uint64_t all = free_bytes / 2;
  for (const MemoryLimit& limit : limits) {
    if (limit.of == MemoryLimit::Of::memory) all = std::min(all, limit.limit_bytes / 10);
  }
  const uint64_t room = room_bytes(limits, Keep::all);
  const uint64_t least = std::clamp(room / 8 / ranks, kSmallest, kSmallestDefault);
  return bounded_capacity(std::clamp(all / ranks, least, kLargestDefault), ranks, limits);
}

uint64_t bounded_capacity(uint64_t wish_bytes, uint32_t ranks, std::span<const MemoryLimit> limits) {
  uint64_t most = UINT64_MAX;
  for (const MemoryLimit& limit : limits) {
    // A process maps all ranks' segments, and its own twice.
    const uint64_t share = limit.of == MemoryLimit::Of::addresses ? 4 : 2;
    most = std::min(most, room_bytes({&limit, 1}, Keep::all) / share / std::max(1u, ranks));
  }
  return std::min(wish_bytes, std::max(most, kSmallest));
}

}  // namespace pmio
