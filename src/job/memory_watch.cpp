#include "job/memory_watch.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/memory_limits.h"

namespace pmio {

// No node's processes together touch new memory faster than this.
constexpr uint64_t kBytesPerNs = 64;
constexpr uint64_t kLongestNs = kSecondNs;

bool MemoryWatch::is_short(uint64_t now_ns) {
  if (now_ns < next_ns_) return short_;
  std::vector<MemoryLimit> limits = medium_.limits();
  // No memory that is given back gives addresses back.
  std::erase_if(limits, [](const MemoryLimit& limit) { return limit.of == MemoryLimit::Of::addresses; });
  const uint64_t room = room_bytes(limits, Keep::half);
  short_ = room == 0;
  next_ns_ = now_ns + std::min(room / kBytesPerNs, kLongestNs);
  return short_;
}

}  // namespace pmio
