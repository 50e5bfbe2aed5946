#include "simulate/round_costs.h"

#include <algorithm>
#include <cmath>

namespace pmio::simulate {
namespace {

constexpr double kMostIntervals = 64;  // NodeRound::kMostIntervals
constexpr uint64_t kMostStreams = 8;   // cluster/window_order.h
// Of messages, in bytes (cluster/message.h), each with a frame and the number of the file.
constexpr double kHead = 16 + 8;
constexpr double kPollAnswer = 32, kPlanBody = 24, kPlanAnswer = 16, kWriteBody = 32, kEndBody = 16;
constexpr double kPlanPart = 16, kInterval = 16;  // of a plan's answer: window, length of the list; an item
constexpr double kOwned = 16, kOther = 4, kLeft = 8;  // of a write: for the owner of a window, and the others
constexpr double kChangedBody = 56;
constexpr double kPlannedPart = 24;  // RoundPlan::Part

double nodes_of(const Scenario& scenario) { return static_cast<double>(scenario.job.nodes); }

// The part of a stripe that is another node's: of so many requests the node before was another one.
double shared_part(const Scenario& scenario, double piece_bytes) {
  if (scenario.job.nodes == 1) return 0;
  return std::max(0.0, 1 - piece_bytes / static_cast<double>(scenario.storage.stripe_bytes));
}

RoundShape strided_shape(const Scenario& scenario, double node_bytes) {
  const double nodes = nodes_of(scenario);
  const double piece =
      static_cast<double>(scenario.job.record_bytes * scenario.job.ranks_per_node);  // of a call
  RoundShape shape;
  shape.windows = std::ceil(nodes * node_bytes / kWindow);
  const double in_window = kWindow / (nodes * piece);  // pieces of a node
  // More than can be told exactly are told as one span, and spans overlap (RoundPlan::mix).
  shape.mixed = nodes > 1 && in_window > kMostIntervals;
  shape.parts = in_window >= 1 ? shape.windows * nodes
                               : nodes * std::ceil(node_bytes / piece) * std::max(1.0, piece / kWindow);
  shape.intervals = shape.mixed ? 1 : std::max(1.0, in_window);
  const bool whole = shape.mixed || nodes == 1;
  shape.request_bytes = whole ? kWindow : std::min(piece, kWindow);
  shape.shared = whole ? 0 : shared_part(scenario, piece);
  return shape;
}

RoundShape segments_shape(const Scenario& scenario, double node_bytes) {
  const double ranks = static_cast<double>(scenario.job.ranks_per_node);
  const double logged = node_bytes / ranks, region = static_cast<double>(scenario.job.rank_bytes());
  RoundShape shape;
  shape.parts = nodes_of(scenario) * ranks * std::max(1.0, std::ceil(logged / kWindow));
  shape.windows = std::min(shape.parts, std::ceil(nodes_of(scenario) * ranks * region / kWindow));
  shape.intervals = 1;
  shape.request_bytes = std::min(logged, kWindow);
  shape.shared = shared_part(scenario, region * ranks);  // the regions of a node follow each other
  return shape;
}

}  // namespace

RoundShape round_shape(const Scenario& scenario, double node_bytes) {
  return scenario.job.layout == Layout::strided ? strided_shape(scenario, node_bytes)
                                                : segments_shape(scenario, node_bytes);
}

uint64_t streams_of_node(uint64_t servers, uint64_t nodes) {
  return std::clamp<uint64_t>((servers + nodes - 1) / nodes, 1, kMostStreams);
}

RoundMessages before_writing(const Scenario& scenario, const RoundShape& shape) {
  const double nodes = nodes_of(scenario);
  RoundMessages all;
  all.messages = 3 * nodes;
  all.sent_bytes = nodes * (3 * kHead + kPlanBody + kWriteBody);
  if (shape.mixed) all.sent_bytes += shape.windows * (kOwned + (nodes - 1) * (kOther + kLeft));
  all.received_bytes = nodes * (3 * kHead + kPollAnswer + kPlanAnswer) +
                       shape.parts * (kPlanPart + shape.intervals * kInterval);
  all.coordinator_bytes = shape.parts * (kPlannedPart + shape.intervals * kInterval);
  return all;
}

RoundMessages after_writing(const Scenario& scenario, const RoundShape& shape) {
  const double nodes = nodes_of(scenario);
  RoundMessages all;
  all.messages = 2 * nodes;
  // All nodes are told of all windows.
  all.sent_bytes = nodes * (2 * kHead + kEndBody + shape.windows * kChangedBody);
  all.received_bytes = nodes * 2 * kHead;
  return all;
}

double seconds_of(const Network& network, const RoundMessages& messages) {
  const double rate = std::min(network.link_bytes_per_second, network.leader_bytes_per_second);
  return network.message_seconds + messages.messages * network.leader_message_seconds +
         std::max(messages.sent_bytes, messages.received_bytes) / rate;
}

double questions_of_leader(const Job& job) {
  return static_cast<double>((job.nodes - 1) * job.ranks_per_node);
}

double question_seconds(const Scenario& scenario) {
  if (scenario.job.nodes == 1) return 0;
  return scenario.network.message_seconds +
         questions_of_leader(scenario.job) * scenario.network.leader_message_seconds;
}

double descriptors_of_leader(const Job& job) {
  if (job.nodes == 1) return 0;
  constexpr double kOfALeader = 12, kOfARank = 1, kForDrains = 2, kSpare = 64;  // cluster/cluster.cpp
  const double nodes = static_cast<double>(job.nodes), here = static_cast<double>(job.ranks_per_node);
  const double to_others = nodes * kOfARank + kForDrains + nodes * kOfALeader;
  const double from_others = static_cast<double>(job.ranks()) * kOfARank + here * (kForDrains + 1) +
                             nodes * (kOfALeader + 1) + kSpare;
  return to_others + from_others;
}

}  // namespace pmio::simulate
