// Which windows of a file this node may write independently without asking the other nodes. They have been
// asked since any of them last asked this one about the window (decision 0011). Each of them would, before it
// wrote there too, and before it relied on what it knows of the window.
//
// In memory that the processes of the node share; zeroed memory is one without leases. Threads, processes:
// any. Bounded: a window may lose its lease to another one, which costs a question. A lease says something to
// a writer that has announced itself (RankCell::logging) before it looks. Whoever gives leases up then waits
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
  // Before the other nodes are asked; the result is what to grant by after they have all answered. What was
  // given up meanwhile is not held. Ranks that ask at the same time do not stand in each other's way.
  uint64_t ask(uint64_t window) {
    auto& one = slot(window);
    uint64_t value = one.load(std::memory_order_seq_cst);
    uint64_t mine = 0;
    do {
      if (value >> kTokenBits == window + 1) return value;  // held, or another rank has asked before
      if (mine == 0) mine = asked(window, questions_.fetch_add(1, std::memory_order_relaxed));
    } while (!one.compare_exchange_weak(value, mine, std::memory_order_seq_cst));
    return mine;
  }
  void grant(uint64_t window, uint64_t question) {
    slot(window).compare_exchange_strong(question, held(window), std::memory_order_seq_cst);
  }
  void give_up(uint64_t window) {
    auto& one = slot(window);
    uint64_t value = one.load(std::memory_order_seq_cst);
    while (value >> kTokenBits == window + 1 && !one.compare_exchange_weak(value, 0)) {
    }
  }
  void give_up_all() {
    for (auto& slot : slots_) slot.store(0, std::memory_order_seq_cst);
  }

 private:
  // Of a question: another one each time, so that nobody takes it for one that was asked before a give_up.
  static constexpr uint32_t kTokenBits = 24;
  static constexpr uint64_t kHeld = (1 << kTokenBits) - 1;
  static constexpr uint64_t asked(uint64_t window, uint32_t question) {
    return (window + 1) << kTokenBits | question % kHeld;
  }
  static constexpr uint64_t held(uint64_t window) { return (window + 1) << kTokenBits | kHeld; }
  // Windows at any even distance get slots of their own, mostly: programs write at such (the last steps of
  // MurmurHash3).
  static constexpr uint64_t place(uint64_t window) {
    window = (window ^ window >> 33) * 0xff51afd7ed558ccd;
    window = (window ^ window >> 33) * 0xc4ceb9fe1a85ec53;
    return (window ^ window >> 33) % kMost;
  }
  std::atomic<uint64_t>& slot(uint64_t window) { return slots_[place(window)]; }
  const std::atomic<uint64_t>& slot(uint64_t window) const { return slots_[place(window)]; }

  std::atomic<uint64_t> slots_[kMost];
  std::atomic<uint32_t> questions_;
};

}  // namespace pmio
