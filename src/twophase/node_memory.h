// The memory that the ranks of a node share for one file: who has come how far, the windows' collective
// buffers, and what pieces are in them.
//
// A step is a window that the node's ranks go through together. Steps are numbered for the file, over all
// calls, and alike on all ranks of a node. A slot holds one window at a time. Its keeper is the rank that
// empties it: the aggregator, or a rank that sends the bytes to an aggregator on another node.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "twophase/coverage.h"
#include "twophase/domains.h"
#include "twophase/patience.h"
#include "twophase/summary.h"

namespace pmio {

// An error of the file, as numbers: what it concerns, and which it is. Also what a read finds out.
struct CallResult {
  Interval failed{UINT64_MAX, 0};  // holds all bytes that it may concern; begin > end: none
  int64_t code = 0;                // a Code
  int64_t system_errno = 0;
  uint64_t file_end = UINT64_MAX;  // a read found the end of the file here

  void fail(const Interval& bytes, const Status& status);
  void add(const CallResult& other);
};

// Written by its rank only. Two calls in turn use the two entries: nobody is in a call before everybody has
// left the one before the last.
struct alignas(64) RankLine {
  std::atomic<uint64_t> arrived;  // calls in which summaries[call % 2] is there
  std::atomic<uint64_t> done;     // steps that the rank has filled its pieces into, or taken them from
  std::atomic<uint64_t> asked;    // steps of a read for which its pieces are known
  Bell bell;
  std::atomic<uint64_t> served;  // calls in which the rank has emptied its slots; results[call % 2] is there
  RankSummary summaries[2];
  CallResult results[2];
};

// Written by the node's leader.
struct alignas(64) NodeLine {
  std::atomic<uint64_t> planned;  // calls in which all nodes' summaries are there
  std::atomic<uint64_t> agreed;   // calls that are over; result is there
  std::atomic<uint64_t> lost;     // not 0: the other nodes cannot be reached, in no later call either
  CallResult results[2];
};

// Written by the slot's keeper.
struct alignas(64) SlotLine {
  std::atomic<uint64_t> ready;  // 1 more than the last step whose window was emptied, or was read in
  uint64_t end;                 // of a read: bytes of the file up to here are there
};

class NodeMemory {
 public:
  // Sizes, the same on all ranks of the node.
  struct Shape {
    uint32_t nodes, ranks, slots;  // ranks of this node
    uint64_t window_bytes;         // a multiple of 4096
    uint64_t bytes() const;
    uint64_t zeroed_bytes() const;  // what has to be 0 at the beginning: all before the images
  };
  NodeMemory(std::shared_ptr<std::byte> memory, const Shape& shape);

  NodeLine& node() { return *at<NodeLine>(0); }
  RankLine& rank(uint32_t index) { return at<RankLine>(ranks_)[index]; }
  SlotLine& slot(uint32_t slot) { return at<SlotLine>(slots_)[slot]; }
  // The summaries of all nodes, of a call.
  NodeSummary* summaries(uint64_t call) { return at<NodeSummary>(summaries_) + call % 2 * shape_.nodes; }
  PieceList& pieces(uint32_t slot, uint32_t index) {
    return at<PieceList>(pieces_)[slot * shape_.ranks + index];
  }
  SharedBits bits(uint32_t slot) { return SharedBits(memory_.get() + bits_ + slot * bits_bytes(shape_)); }
  // The bytes of a window that begins there in the file, and room for a message's trailer behind them. They
  // lie in their pages as they do in the file's: base/file_buffer.h says why.
  std::byte* image(uint32_t slot, uint64_t begin) {
    return memory_.get() + images_ + slot * image_bytes(shape_) + begin % kBufferUnit;
  }

 private:
  static uint64_t image_bytes(const Shape& shape);
  static uint64_t bits_bytes(const Shape& shape);
  template <class T>
  T* at(uint64_t offset) {
    return reinterpret_cast<T*>(memory_.get() + offset);
  }
  const std::shared_ptr<std::byte> memory_;
  const Shape shape_;
  uint64_t ranks_, slots_, summaries_, pieces_, bits_, images_;
};

}  // namespace pmio
