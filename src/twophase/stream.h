// The bytes of one rank's request in the file: which of them lie in a range of it, found without a walk.
#pragma once

#include <algorithm>

#include "drain/interval.h"
#include "twophase/two_phase.h"

namespace pmio {

// The request must outlive it. Threads: immutable.
class Stream {
 public:
  explicit Stream(const TwoPhaseRequest& request);

  // From the first to the last byte; empty without bytes.
  const Interval& range() const { return range_; }
  // Whether the bytes leave no hole.
  bool contiguous() const { return range_.bytes() == request_.bytes; }
  const TwoPhaseRequest& request() const { return request_; }
  // Whether the view's pieces are so small that the pieces of several ranks share a cache line.
  bool small_pieces() const { return small_pieces_; }

  // How many of the request's bytes lie before that offset of the file.
  uint64_t bytes_before(uint64_t offset) const;
  // The request's bytes that lie in a range of the file: [begin, end), counted from the first one.
  Interval within(const Interval& range) const;
  // Cursors at such a byte.
  PatternCursor file_cursor(uint64_t byte) const {
    return {*request_.view, request_.displacement, request_.position + byte};
  }
  // The first byte of the piece in which a byte lies.
  uint64_t piece_begin(uint64_t byte) const {
    return byte - std::min(byte, file_cursor(byte).bytes_into_block());
  }
  PatternCursor memory_cursor(uint64_t byte) const { return {*request_.memory, 0, byte}; }

 private:
  const TwoPhaseRequest& request_;
  Interval range_{0, 0};
  bool small_pieces_ = false;
};

}  // namespace pmio
