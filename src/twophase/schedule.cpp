#include "twophase/schedule.h"

#include <algorithm>

namespace pmio {

Schedule::Schedule(const Places& places, const std::vector<uint32_t>& aggregators, const Domains& domains,
                   const NodeSummary& own)
    : own_(&own) {
  for (uint32_t a = 0; a < aggregators.size(); ++a)
    lanes_.push_back({a, places.node_of[aggregators[a]] == places.node, domains.walk(a)});
  const auto distance = [&](const Lane& lane) {
    return places.distance(places.node, places.node_of[aggregators[lane.aggregator]]);
  };
  std::stable_sort(lanes_.begin(), lanes_.end(),
                   [&](const Lane& x, const Lane& y) { return distance(x) < distance(y); });
}

std::optional<Schedule::Step> Schedule::next() {
  while (!lanes_.empty()) {
    if (at_ == lanes_.size()) {
      lanes_.erase(lanes_.begin() + static_cast<ptrdiff_t>(kept_), lanes_.end());
      at_ = kept_ = 0;
      continue;
    }
    Lane lane = lanes_[at_++];
    const std::optional<Interval> window = lane.walk.next();
    if (!window) continue;
    const Step step{lane.aggregator, *window};
    const bool local = lane.local;
    lanes_[kept_++] = lane;
    if (local || own_->meets(step.window)) return step;
  }
  return std::nullopt;
}

}  // namespace pmio
