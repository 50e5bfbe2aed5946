// Which windows of a file this node may write independently without asking the other nodes: they have been
// asked since any of them last asked this one about the window (decision 0011). Each of them would, before it
// wrote there too, and before it relied on what it knows of the window.
//
// In memory that the processes of the node share; zeroed memory is one without leases. Threads, processes:
// any. Bounded: a window may lose its lease to another one, which costs a question. A lease says something to
// a writer that has announced itself (RankCell::logging) before it looks: whoever gives leases up then waits
// for those that were announced.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pmio {

class Leases {
 public:
  static constexpr uint32_t kMost = 4096;

  bool holds(uint64_t window) const { return slot(window).load(std::memory_order_seq_cst) == held(window); }
  // Before rank asks the other nodes, and after they have all answered: what was given up meanwhile, or asked
  // for by another rank, is not held.
  void ask(uint64_t window, uint32_t rank) {
    if (!holds(window)) slot(window).store(asked(window, rank), std::memory_order_seq_cst);
  }
  void grant(uint64_t window, uint32_t rank) {
    uint64_t mine = asked(window, rank);
    slot(window).compare_exchange_strong(mine, held(window), std::memory_order_seq_cst);
  }
  void give_up(uint64_t window) {
    auto& one = slot(window);
    uint64_t value = one.load(std::memory_order_seq_cst);
    while (value >> kRankBits == window + 1 && !one.compare_exchange_weak(value, 0)) {
    }
  }
  void give_up_all() {
    for (auto& slot : slots_) slot.store(0, std::memory_order_seq_cst);
  }

 private:
  static constexpr uint32_t kRankBits = 20;  // enough for segment_number's ranks
  static constexpr uint64_t kHeld = (1 << kRankBits) - 1;
  static constexpr uint64_t asked(uint64_t window, uint32_t rank) { return (window + 1) << kRankBits | rank; }
  static constexpr uint64_t held(uint64_t window) { return (window + 1) << kRankBits | kHeld; }
  std::atomic<uint64_t>& slot(uint64_t window) { return slots_[window % kMost]; }
  const std::atomic<uint64_t>& slot(uint64_t window) const { return slots_[window % kMost]; }

  std::atomic<uint64_t> slots_[kMost];
};

}  // namespace pmio
