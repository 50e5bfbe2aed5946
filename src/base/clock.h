// Times in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace pmio {

constexpr uint64_t kSecondNs = 1'000'000'000;

// The time of a timespec, or of what statx(2) has instead.
template <class Time>
constexpr uint64_t to_ns(const Time& time) {
  return static_cast<uint64_t>(time.tv_sec) * kSecondNs + static_cast<uint64_t>(time.tv_nsec);
}

inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return to_ns(now);
}

inline uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline uint64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }  // since 1970

}  // namespace pmio
