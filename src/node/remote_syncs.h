// What other nodes have synced of what they had written past their logs, as far as anybody on this node has
// been told. Whoever is told of more counts a change. Then all ranks of the node read the file anew.
//
// In memory that the processes of the node share; zeroed memory is one where nobody has been told anything.
// Threads, processes: any. Order: a change is counted before a node's count is taken for known, so that who
// finds it known sees the change.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/atomic_max.h"

namespace pmio {

class RemoteSyncs {
 public:
  // How many writes past its log a node has synced, ever; a node that has not is left out.
  struct Count {
    uint32_t node;
    uint64_t count;
  };
  static constexpr size_t kMostNodes = 1024;  // of a further one each answer counts as a change

  uint64_t changes() const { return changes_.load(std::memory_order_seq_cst); }
  // The nodes count anew, or may.
  void start_over() {
    for (auto& count : known_) count.store(0, std::memory_order_seq_cst);
    changes_.fetch_add(1, std::memory_order_seq_cst);
  }
  void learn(std::span<const Count> answers) {
    for (const Count& answer : answers) {
      const bool kept = answer.node < kMostNodes;
      if (kept && known_[answer.node].load(std::memory_order_seq_cst) >= answer.count) continue;
      changes_.fetch_add(1, std::memory_order_seq_cst);
      if (kept) raise_to(known_[answer.node], answer.count);
    }
  }

 private:
  std::atomic<uint64_t> changes_;
  std::atomic<uint64_t> known_[kMostNodes];
};

}  // namespace pmio
