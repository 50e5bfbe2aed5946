// The stamps of a file whose ranks are on several nodes (decision 0011): how many collective write calls had
// been begun, then a clock. The clock counts independent writes, as Lamport's does. A rank's clock is ahead
// of any write that the rank may have learnt of, on whatever node. A collective write has the clock 0: it
// comes before all independent writes of ranks that have finished it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pmio {

using CallStamp = uint64_t;

constexpr uint64_t kLastClock = UINT32_MAX;
// So that a signed number of 64 bits holds every stamp.
constexpr uint64_t kLastCall = INT32_MAX;

constexpr CallStamp call_stamp(uint64_t calls, uint64_t clock) { return calls << 32 | clock; }
constexpr uint64_t stamp_calls(CallStamp stamp) { return stamp >> 32; }
constexpr uint64_t stamp_clock(CallStamp stamp) { return stamp & kLastClock; }
// The last stamp of a write by a rank that had finished no more calls.
constexpr CallStamp last_stamp_of(uint64_t calls) {
  return call_stamp(std::min(calls, kLastCall), kLastClock);
}

// The first collective write call whose stamp is not earlier.
constexpr uint64_t first_call_not_before(CallStamp stamp) {
  return stamp_calls(stamp) + (stamp_clock(stamp) > 0 ? 1 : 0);
}

}  // namespace pmio
