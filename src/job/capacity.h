// How large a rank's log is. Pure functions of what is known when the job begins. While it runs, the pool and
// the background thread keep to what is left by then (job/pool.h, job/memory_watch.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/memory_limits.h"

namespace pmio {

// The log capacity per rank that suits a directory with so much room: a share of it. If that is memory, all
// ranks together take at most a tenth of each limit on it. It is at most 1 GiB, and at least 16 MiB if the
// limits leave so much.
uint64_t default_capacity(uint64_t free_bytes, uint32_t ranks, std::span<const MemoryLimit> limits = {});

// What of a wish for each rank's log the limits allow: all ranks together half of what is left beside
// kept_free. At least what the smallest log takes, which may be too much all the same.
uint64_t bounded_capacity(uint64_t wish_bytes, uint32_t ranks, std::span<const MemoryLimit> limits);

}  // namespace pmio
