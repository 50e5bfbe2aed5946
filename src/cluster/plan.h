// Who writes which window in a round. If the pieces of the nodes do not mix, each node writes its own; else
// one of the nodes writes all of the window. Each message has a bound, however many windows there are.
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cluster/message.h"

namespace pmio {

class RoundPlan {
 public:
  // A part is what one node has of one window. Parts of all nodes in a `write`, of at most 12 bytes each:
  static constexpr size_t kMostParts = size_t{4} << 20;
  static constexpr size_t kMostChanged = size_t{1} << 20;  // windows in a `finish`
  explicit RoundPlan(uint32_t nodes, size_t most_parts = kMostParts, size_t most_changed = kMostChanged)
      : nodes_(nodes), most_parts_(most_parts), most_changed_(most_changed) {}
  // Takes the answers to `plan`, in any order. When all have come, `arrange`.
  Status read(uint32_t node, std::span<const std::byte> answer);
  Status arrange();
  // The next request `write` of each node, by node: at least one, then more as long as `more_work`.
  std::vector<MessageWriter> work(uint64_t file, uint64_t round);
  bool more_work() const { return given_ < parts_.size(); }
  // Takes the answers to it, by node.
  Status read_mixed(std::span<const std::vector<std::byte>> answers);
  // The requests `stop_serving` to all nodes, the last of which is `finish`.
  std::vector<MessageWriter> changes(uint64_t file, uint64_t round) const;

 private:
  struct Part {
    uint64_t window = 0;
    uint32_t node = 0;
    uint32_t count = 0;  // of its pieces
    uint64_t first = 0;  // the position of the first piece in pieces_
  };
  std::span<const Interval> pieces(const Part& part) const;
  // The parts of the window that begins there.
  std::span<const Part> window_at(size_t part) const;
  bool mix(std::span<const Part> parts) const;
  std::vector<std::span<const Part>> next_shared();
  ChangedBody changed(std::span<const Part> parts) const;

  const uint32_t nodes_;
  const size_t most_parts_, most_changed_;
  std::vector<Part> parts_;  // arranged: by window, then node
  std::vector<Interval> pieces_;
  size_t given_ = 0;             // parts of the windows that `work` has given out
  std::vector<uint64_t> mixed_;  // in order
};

}  // namespace pmio
