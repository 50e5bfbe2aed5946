// How many bytes went to each I/O server of a file. Threads: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "layout/layout.h"

namespace pmio {

class ServerBytes {
 public:
  static constexpr uint32_t kMost = 512;  // further servers count as the last of these

  explicit ServerBytes(Layout layout) : layout_(std::move(layout)), bytes_(servers_of(layout_)) {}

  void add(uint64_t offset, uint64_t length) {
    for (const uint64_t end = offset + length; offset < end;) {
      const uint64_t next = std::min(end, layout_.next_boundary(offset));
      const uint32_t server = std::min(layout_.server_of(offset), static_cast<uint32_t>(bytes_.size() - 1));
      bytes_[server].fetch_add(next - offset, std::memory_order_relaxed);
      offset = next;
    }
  }
  // Since the last call of this.
  std::vector<uint64_t> take() {
    std::vector<uint64_t> taken;
    for (auto& bytes : bytes_) taken.push_back(bytes.exchange(0, std::memory_order_relaxed));
    return taken;
  }

 private:
  static uint32_t servers_of(const Layout& layout) {
    uint32_t count = layout.components.empty() ? layout.servers : 1;
    for (const LayoutComponent& component : layout.components)
      for (const uint32_t server : component.servers) count = std::max(count, server + 1);
    return std::clamp(count, uint32_t{1}, kMost);
  }
  const Layout layout_;
  std::vector<std::atomic<uint64_t>> bytes_;
};

}  // namespace pmio
