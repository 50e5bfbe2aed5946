// Which I/O server a byte of a file belongs to, and where the next boundary is. Round-robin stripes: server
// of offset o is (o / stripe_bytes) % servers. A provider interface finds it out for a file; today: the hints
// striping_unit and striping_factor, else one server.
#pragma once

#include <cstdint>
#include <span>

namespace pmio {

struct Layout {
  uint64_t stripe_bytes = 0;  // 0: no stripes, one server
  uint32_t servers = 1;       // > 0

  uint32_t server_of(uint64_t offset) const {
    return stripe_bytes == 0 ? 0 : static_cast<uint32_t>(offset / stripe_bytes % servers);
  }
  // First boundary after offset; UINT64_MAX where there are no stripes.
  uint64_t next_boundary(uint64_t offset) const {
    if (stripe_bytes == 0) return UINT64_MAX;
    uint64_t boundary;
    return __builtin_mul_overflow(offset / stripe_bytes + 1, stripe_bytes, &boundary) ? UINT64_MAX : boundary;
  }
};

struct LayoutHints {
  uint64_t striping_unit = 0;    // bytes, 0: not given
  uint32_t striping_factor = 0;  // 0: not given
};

class LayoutProvider {
 public:
  virtual ~LayoutProvider() = default;
  virtual const char* name() const = 0;
  // True and *layout set where this provider knows the file behind fd.
  virtual bool find(int fd, const LayoutHints& hints, Layout* layout) const = 0;
};

// Asks the providers in order; the last one is the hints'. An answer that makes no sense (no server, a stripe
// longer than a file can be) is passed over. A new kind of file system is a new provider in this list.
std::span<const LayoutProvider* const> layout_providers();
Layout find_layout(int fd, const LayoutHints& hints);
Layout find_layout(int fd, const LayoutHints& hints, std::span<const LayoutProvider* const> providers);

}  // namespace pmio
