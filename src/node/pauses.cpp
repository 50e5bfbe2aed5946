#include "node/pauses.h"

namespace pmio {

bool Pauses::is_good(uint64_t now_ns, bool drained) const {
  const uint64_t last = last_ns_.load(std::memory_order_relaxed);
  if (spoilt_.load(std::memory_order_relaxed) || !idle_.since(last)) return false;
  const uint64_t pause = now_ns - last;
  if (hide_drains()) return drained;
  const uint64_t bytes = burst_bytes_.load(std::memory_order_relaxed);
  const double drain_ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(kDrainBytesPerSecond);
  return static_cast<double>(pause) >= static_cast<double>(kDrainStartNs) + drain_ns;
}

void Pauses::begin(uint64_t bytes, uint64_t now_ns, bool drained) {
  const uint64_t last = last_ns_.load(std::memory_order_relaxed);
  if (last != 0 && now_ns - last >= kPauseNs) {
    const uint32_t good = good_.load(std::memory_order_relaxed);
    const uint32_t more = good < kGoodPauses ? good + 1 : good;
    good_.store(is_good(now_ns, drained) ? more : 0, std::memory_order_relaxed);
    burst_bytes_.store(0, std::memory_order_relaxed);
    spoilt_.store(false, std::memory_order_relaxed);
  }
  burst_bytes_.store(burst_bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

uint64_t Pauses::wanted_warm_bytes() const {
  const bool next = good_.load(std::memory_order_relaxed) + 1 >= kGoodPauses;
  return next && !spoilt_.load(std::memory_order_relaxed) ? burst_bytes_.load(std::memory_order_relaxed) : 0;
}

}  // namespace pmio
