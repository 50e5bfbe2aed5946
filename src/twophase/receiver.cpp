#include "twophase/receiver.h"

namespace pmio {
namespace {

constexpr size_t kMostAtOnce = 2;

}  // namespace

void Receiver::expect(const Interval& window) {
  const Places& places = parts_.places;
  // The number of this rank as an aggregator says which rank of a node sends to it (Slots::next).
  uint32_t number = 0;
  while (parts_.options.aggregators[number] != places.rank) ++number;
  for (uint32_t distance = 1; distance < places.nodes(); ++distance) {
    const uint32_t node = (places.node + places.nodes() - distance) % places.nodes();
    if (plan_.nodes[node].meets(window)) expected_.push_back(places.keeper_on(node, number));
  }
}

void Receiver::begin_receives() {
  while (!expected_.empty() && incoming_.size() < kMostAtOnce) {
    Incoming next{expected_.front(), 0, {}};
    expected_.pop_front();
    if (!rooms_.empty()) {
      next.room = std::move(rooms_.back());
      rooms_.pop_back();
    }
    next.room.resize(most_bytes_);
    next.message = parts_.collective.receive(next.from, 0, next.room);
    incoming_.push_back(std::move(next));
  }
}

}  // namespace pmio
