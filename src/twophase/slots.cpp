#include "twophase/parts.h"

namespace pmio {

Slots::Slots(const Places& places, const std::vector<uint32_t>& aggregators)
    : places_(&places), aggregators_(&aggregators), turns_(aggregators.size()) {
  for (const uint32_t rank : aggregators) {
    first_slot_.push_back(sending_first_);
    if (places.node_of[rank] == places.node) sending_first_ += 2;
  }
  last_.resize(sending_first_ + (places.nodes() > 1 ? kSending : 0));
}

uint32_t Slots::slot_of(uint32_t aggregator) {
  if (places_->node_of[(*aggregators_)[aggregator]] == places_->node)
    return first_slot_[aggregator] + turns_[aggregator]++ % 2;
  return sending_first_ + sending_turns_++ % kSending;
}

Step Slots::next(uint32_t aggregator, const Interval& window) {
  const uint32_t rank = (*aggregators_)[aggregator], slot = slot_of(aggregator);
  const bool local = places_->node_of[rank] == places_->node;
  const uint32_t keeper = local ? rank : places_->keeper_on(places_->node, aggregator);
  const Step step{number_++, last_[slot], slot, rank, keeper, window};
  last_[slot] = step.number + 1;
  return step;
}

}  // namespace pmio
