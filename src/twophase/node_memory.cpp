#include "twophase/node_memory.h"

#include <algorithm>

#include "twophase/package.h"

namespace pmio {
namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share them");

uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Offsets {
  uint64_t ranks, slots, summaries, pieces, bits, images;
};

}  // namespace

void CallResult::fail(const Interval& bytes, const Status& status) {
  CallResult other;
  other.failed = bytes;
  other.code = static_cast<int64_t>(status.code());
  other.system_errno = status.system_errno();
  add(other);
}

void CallResult::add(const CallResult& other) {
  file_end = std::min(file_end, other.file_end);
  if (other.code == 0) return;
  failed = {std::min(failed.begin, other.failed.begin), std::max(failed.end, other.failed.end)};
  // The same one of several on all ranks, whatever their order.
  if (other.code > code || (other.code == code && other.system_errno > system_errno)) {
    code = other.code;
    system_errno = other.system_errno;
  }
}

namespace {

uint64_t bits_of(uint64_t window_bytes) { return round_up(SharedBits::bytes_for(window_bytes), 64); }

Offsets offsets_of(const NodeMemory::Shape& shape) {
  Offsets at{};
  at.ranks = sizeof(NodeLine);
  at.slots = at.ranks + shape.ranks * sizeof(RankLine);
  at.summaries = at.slots + shape.slots * sizeof(SlotLine);
  at.pieces = round_up(at.summaries + 2 * shape.nodes * sizeof(NodeSummary), alignof(PieceList));
  at.bits = at.pieces + uint64_t{shape.slots} * shape.ranks * sizeof(PieceList);
  at.images = round_up(at.bits + shape.slots * bits_of(shape.window_bytes), kBufferUnit);
  return at;
}

}  // namespace

uint64_t NodeMemory::image_bytes(const Shape& shape) {
  return round_up(shape.window_bytes + most_trailer_bytes(shape.window_bytes), kBufferUnit) + kBufferUnit;
}

uint64_t NodeMemory::bits_bytes(const Shape& shape) { return bits_of(shape.window_bytes); }

uint64_t NodeMemory::Shape::bytes() const { return zeroed_bytes() + slots * image_bytes(*this); }
uint64_t NodeMemory::Shape::zeroed_bytes() const { return offsets_of(*this).images; }

NodeMemory::NodeMemory(std::shared_ptr<std::byte> memory, const Shape& shape)
    : memory_(std::move(memory)), shape_(shape) {
  const Offsets at = offsets_of(shape);
  ranks_ = at.ranks;
  slots_ = at.slots;
  summaries_ = at.summaries;
  pieces_ = at.pieces;
  bits_ = at.bits;
  images_ = at.images;
}

}  // namespace pmio
