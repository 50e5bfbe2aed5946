#include "simulate/scenario.h"

#include <cmath>
#include <string>

namespace pmio::simulate {
namespace {

constexpr double kMostBytes = 1e24;
constexpr double kMostLogParts = 1024;  // how often a checkpoint may be larger than the log

Status wrong(const std::string& what) { return {Code::invalid, what}; }

Status in_range(const char* name, double value, double least, double most) {
  if (std::isfinite(value) && value >= least && value <= most) return {};
  char range[96];
  std::snprintf(range, sizeof range, " is %g, and is to be from %g to %g", value, least, most);
  return wrong(name + std::string(range));
}

Status check_job(const Job& job) {
  PMIO_TRY(in_range("the number of nodes", static_cast<double>(job.nodes), 1, 1e6));
  PMIO_TRY(in_range("the number of ranks of a node", static_cast<double>(job.ranks_per_node), 1, 4096));
  PMIO_TRY(in_range("the size of a record", static_cast<double>(job.record_bytes), 1, 1e12));
  PMIO_TRY(in_range("the number of records", static_cast<double>(job.records), 1, 1e12));
  PMIO_TRY(in_range("the number of checkpoints", static_cast<double>(job.checkpoints), 1, 10000));
  PMIO_TRY(in_range("the time of computing", job.compute_seconds, 0, 1e9));
  const double bytes = static_cast<double>(job.record_bytes) * static_cast<double>(job.records) *
                       static_cast<double>(job.ranks());
  // What follows counts bytes by 64 bits.
  return in_range("the size of a checkpoint", bytes, 1, 4e18);
}

Status check_network(const Network& network) {
  PMIO_TRY(in_range("the rate of a node's link", network.link_bytes_per_second, 1, kMostBytes));
  if (network.core_bytes_per_second != 0)
    PMIO_TRY(in_range("the rate of the network's core", network.core_bytes_per_second, 1, kMostBytes));
  PMIO_TRY(in_range("the time of a message", network.message_seconds, 0, 1e3));
  PMIO_TRY(in_range("the time of a rank's message", network.rank_message_seconds, 0, 1e3));
  PMIO_TRY(in_range("the rate of a leader", network.leader_bytes_per_second, 1, kMostBytes));
  return in_range("the time of a leader's message", network.leader_message_seconds, 0, 1e3);
}

Status check_storage(const Storage& storage) {
  PMIO_TRY(in_range("the number of servers", static_cast<double>(storage.servers), 1, 1e6));
  PMIO_TRY(in_range("the rate of a server", storage.bytes_per_second, 1, kMostBytes));
  PMIO_TRY(in_range("the time of a request", storage.request_seconds, 0, 1e3));
  PMIO_TRY(in_range("the time of a lock", storage.lock_seconds, 0, 1e3));
  return in_range("the size of a stripe", static_cast<double>(storage.stripe_bytes), 1, 1e12);
}

Status check_log(const Log& log, const Job& job) {
  PMIO_TRY(in_range("the rate of the log", log.medium.warm_bytes_per_second, 1, kMostBytes));
  PMIO_TRY(in_range("the rate of the log when it is cold", log.medium.cold_bytes_per_second, 1, kMostBytes));
  const double least = static_cast<double>(job.node_bytes()) * log.log_bytes_of_byte(job) / kMostLogParts;
  return in_range("the log's capacity of a node, in bytes", log.medium.capacity_bytes, least, kMostBytes);
}

Status check_precision(const Precision& precision) {
  PMIO_TRY(in_range("the number of classes", static_cast<double>(precision.classes), 1, 1e5));
  PMIO_TRY(in_range("the number of flows", static_cast<double>(precision.flows), 1, 1e6));
  PMIO_TRY(in_range("the number of steps", static_cast<double>(precision.steps), 1, 1e6));
  return in_range("the number of parts", static_cast<double>(precision.calls), 1, 1e6);
}

}  // namespace

Status check(const Scenario& scenario) {
  PMIO_TRY(check_job(scenario.job));
  PMIO_TRY(check_network(scenario.network));
  PMIO_TRY(check_storage(scenario.storage));
  PMIO_TRY(check_log(scenario.log, scenario.job));
  PMIO_TRY(check_precision(scenario.precision));
  if (scenario.collective.aggregators > scenario.job.nodes)
    return wrong("there are to be no more aggregators than nodes");
  if (scenario.failures.node_mtbf_seconds != 0)
    PMIO_TRY(in_range("the time between failures of a node", scenario.failures.node_mtbf_seconds, 1, 1e15));
  return {};
}

}  // namespace pmio::simulate
