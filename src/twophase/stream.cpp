#include "twophase/stream.h"

#include <algorithm>

namespace pmio {

namespace {

constexpr uint64_t kSmallPiece = 128;  // two cache lines
constexpr size_t kSample = 8;

// By its first parts: irregular patterns have many, and this is asked in each call.
bool has_small_pieces(const Pattern& pattern) {
  if (pattern.dense) return false;  // its tiles are one piece
  uint64_t bytes = 0, pieces = 0;
  for (size_t i = 0; i < std::min(kSample, pattern.parts.size()); ++i) {
    bytes += pattern.parts[i].bytes();
    pieces += pattern.parts[i].count;
  }
  return bytes < pieces * kSmallPiece;
}

}  // namespace

Stream::Stream(const TwoPhaseRequest& request) : request_(request) {
  if (request.bytes == 0) return;  // it may have no view
  small_pieces_ = has_small_pieces(*request.view);
  range_ = {static_cast<uint64_t>(file_cursor(0).offset()),
            static_cast<uint64_t>(file_cursor(request.bytes - 1).offset()) + 1};
}

uint64_t Stream::bytes_before(uint64_t offset) const {
  if (offset <= range_.begin) return 0;
  if (offset >= range_.end) return request_.bytes;
  const uint64_t before =
      pmio::bytes_before(*request_.view, static_cast<int64_t>(offset) - request_.displacement);
  return std::min(before - request_.position, request_.bytes);
}

Interval Stream::within(const Interval& range) const {
  return {bytes_before(range.begin), bytes_before(range.end)};
}

}  // namespace pmio
