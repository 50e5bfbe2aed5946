// Tells which I/O server a byte of a file belongs to, and where the next boundary is.
//
// Servers are numbered for this file alone, from 0: the numbers are no names of the file system. Boundaries
// are counted from byte 0 of the file. Threads: values, no sharing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pmio {

// A part of a file with stripes of its own. It begins where the part before it ends.
struct LayoutComponent {
  uint64_t end = UINT64_MAX;  // the first byte behind it
  uint64_t stripe_bytes = 0;  // 0: no stripes, servers[0] has all of it
  // Stripe number n is on servers[n % size]; a server may occur twice.
  std::vector<uint32_t> servers;

  uint32_t server_of(uint64_t offset) const {
    return stripe_bytes == 0 ? servers[0] : servers[offset / stripe_bytes % servers.size()];
  }
};

struct Layout {
  uint64_t stripe_bytes = 0;  // stripe number n is on server n % servers; 0: no stripes, one server
  uint32_t servers = 1;       // > 0
  // If parts of the file differ, or the servers do not come in order, these hold instead of stripe_bytes.
  // Their ends ascend, and the last one is UINT64_MAX.
  std::vector<LayoutComponent> components;

  uint32_t server_of(uint64_t offset) const {
    if (!components.empty()) return component_of(offset).server_of(offset);
    return stripe_bytes == 0 ? 0 : static_cast<uint32_t>(offset / stripe_bytes % servers);
  }
  // The first boundary after offset; UINT64_MAX: there is none.
  uint64_t next_boundary(uint64_t offset) const {
    if (components.empty()) return next_multiple(offset, stripe_bytes);
    const LayoutComponent& component = component_of(offset);
    return std::min(component.end, next_multiple(offset, component.stripe_bytes));
  }
  // UINT64_MAX: no stripes.
  uint64_t smallest_stripe_bytes() const;
  // Whether it is as is said above, and no stripe is longer than a file can be.
  bool valid() const;

 private:
  static uint64_t next_multiple(uint64_t offset, uint64_t unit) {
    if (unit == 0) return UINT64_MAX;
    uint64_t multiple;
    return __builtin_mul_overflow(offset / unit + 1, unit, &multiple) ? UINT64_MAX : multiple;
  }
  const LayoutComponent& component_of(uint64_t offset) const {
    auto component = components.begin();
    while (component->end <= offset && component + 1 != components.end()) ++component;
    return *component;
  }
};

// A layout as words, for memory that processes share. unpack returns nothing if the words are no valid
// layout.
std::vector<uint64_t> pack(const Layout& layout);
std::optional<Layout> unpack(std::span<const uint64_t> words);

}  // namespace pmio
