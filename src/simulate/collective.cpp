#include "simulate/collective.h"

#include <algorithm>
#include <cmath>

namespace pmio::simulate {
namespace {

double divided_up(double what, double by) { return std::ceil(what / by); }

// Those who send one message for each window that they have bytes of.
double senders_of_window(const Scenario& scenario, double window_bytes) {
  const Job& job = scenario.job;
  if (job.layout == Layout::segments) return 1;
  const bool by_node = scenario.collective.exchange == Exchange::nodes;
  const double members = static_cast<double>(by_node ? job.nodes : job.ranks());
  const double piece = static_cast<double>(job.record_bytes * (by_node ? job.ranks_per_node : 1));
  return std::min(members, divided_up(window_bytes, piece));
}

// Before the data: who has what.
double agreement_seconds(const Scenario& scenario) {
  const Network& network = scenario.network;
  if (scenario.collective.exchange == Exchange::nodes)
    return std::ceil(std::log2(static_cast<double>(scenario.job.nodes))) * network.message_seconds;
  const double ranks = static_cast<double>(scenario.job.ranks());
  return std::ceil(std::log2(ranks)) * network.message_seconds + ranks * network.rank_message_seconds;
}

// Of the data of a call, from node to node.
double crossing_seconds(const Scenario& scenario, double aggregators) {
  const Job& job = scenario.job;
  const double nodes = static_cast<double>(job.nodes);
  const double crossing = (nodes - 1) / nodes;  // the part that is not the aggregator's own
  const double bytes_of_node = static_cast<double>(job.record_bytes * job.ranks_per_node);
  const double largest = std::max(bytes_of_node, bytes_of_node * nodes / aggregators) * crossing;
  const double link = largest / scenario.network.link_bytes_per_second;
  const double core = scenario.network.core_bytes_per_second;
  return core > 0 ? std::max(link, bytes_of_node * nodes * crossing / core) : link;
}

}  // namespace

CallShape call_shape(const Scenario& scenario) {
  const Job& job = scenario.job;
  const double window = scenario.copies.window_bytes;
  const double run =
      static_cast<double>(job.layout == Layout::strided ? job.record_bytes * job.ranks() : job.record_bytes);
  const double runs = job.layout == Layout::strided ? 1 : static_cast<double>(job.ranks());
  const double windows = runs * divided_up(run, window);
  const uint64_t most = scenario.collective.aggregators > 0 ? scenario.collective.aggregators : job.nodes;
  CallShape shape;
  shape.aggregators = std::min(most, static_cast<uint64_t>(windows));
  shape.request_bytes = static_cast<uint64_t>(std::min(run, window));
  shape.windows = divided_up(windows, static_cast<double>(shape.aggregators));
  shape.messages = shape.windows * senders_of_window(scenario, static_cast<double>(shape.request_bytes));
  return shape;
}

double exchange_seconds(const Scenario& scenario) {
  const CallShape shape = call_shape(scenario);
  const double bytes_of_node = static_cast<double>(scenario.job.record_bytes * scenario.job.ranks_per_node);
  const double within = scenario.copies.call_seconds + bytes_of_node / scenario.copies.copy_bytes_per_second;
  if (scenario.job.nodes == 1) return within;
  return within + agreement_seconds(scenario) + shape.windows * scenario.network.message_seconds +
         shape.messages * scenario.network.rank_message_seconds +
         crossing_seconds(scenario, static_cast<double>(shape.aggregators));
}

}  // namespace pmio::simulate
