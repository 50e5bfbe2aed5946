// Random numbers that are the same on every MPI, compiler and machine, so that a seed replays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace differential {

inline uint64_t mix(uint64_t x) {  // the finaliser of splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix(seed)) {}
  uint64_t next() { return mix(state_++); }
  int64_t below(int64_t bound) {
    return bound <= 1 ? 0 : static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }  // both included
  bool percent(int chance) { return below(100) < chance; }
  // 0 now and then; else all orders of magnitude up to bound alike.
  int64_t magnitude(int64_t bound) {
    int64_t limit = 1;
    for (int64_t doublings = below(40); doublings > 0 && limit < bound; doublings--) limit *= 2;
    return below((limit < bound ? limit : bound) + 1);
  }

 private:
  uint64_t state_;
};

inline uint64_t hash_bytes(const void* bytes, size_t length, uint64_t seed = 0) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  const auto* byte = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < length; i++) hash = (hash ^ byte[i]) * 0x100000001b3;
  return hash;
}

inline void fill_bytes(void* bytes, size_t length, uint64_t seed) {
  auto* byte = static_cast<unsigned char*>(bytes);
  uint64_t word = 0;
  for (size_t i = 0; i < length; i++) {
    if (i % 8 == 0) word = mix(seed + i);
    byte[i] = static_cast<unsigned char>(word >> (i % 8 * 8));
  }
}

}  // namespace differential
