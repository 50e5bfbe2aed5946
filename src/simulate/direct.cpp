#include "simulate/direct.h"

#include <algorithm>

#include "simulate/collective.h"
#include "simulate/shares.h"

namespace pmio::simulate {
namespace {

// Steps of a part of a checkpoint, if there are many parts.
uint64_t steps_of_part(const Scenario& scenario, uint64_t parts) {
  return std::max<uint64_t>(8, scenario.precision.steps / parts);
}

uint64_t direct_parts_of(const Scenario& scenario, Way way) {
  return way == Way::two_phase ? std::min(scenario.job.records, scenario.precision.calls) : 1;
}

}  // namespace

DirectProgram::DirectProgram(const Scenario& scenario, EventLoop& loop, Path& path, Outcome& outcome)
    : Program(scenario, loop, outcome),
      writing_(loop, path, steps_of_part(scenario, direct_parts_of(scenario, outcome.way)),
               scenario.storage.stripe_bytes),
      parts_(direct_parts_of(scenario, outcome.way)) {}

void DirectProgram::wake(uint32_t what) {
  switch (what) {
    case kComputed:
      begin_checkpoint();
      part_ = 0;
      return begin_part();
    case kExchanged:
      return write_part();
    default:
      return end_part();
  }
}

void DirectProgram::begin_part() {
  if (outcome_.way == Way::independent) return write_part();
  const uint64_t records = scenario_.job.records;
  calls_before_ = part_ * (records / parts_) + std::min(part_, records % parts_);
  calls_ = even_share(records, parts_, part_);
  loop_.at(loop_.now() + static_cast<double>(calls_) * exchange_seconds(scenario_), *this, kExchanged);
}

void DirectProgram::write_part() {
  writing_.begin(outcome_.way == Way::independent ? independent_writers() : aggregators(), *this, kWritten);
}

void DirectProgram::end_part() {
  if (++part_ < parts_) return begin_part();
  outcome_.checkpoints.back().in_file = outcome_.seconds = loop_.now();
  checkpoint_is_written();
}

// The ranks' records, each a request. A client's cache makes stripes of those of one rank that follow each
// other.
std::vector<Writer> DirectProgram::independent_writers() const {
  const Job& job = scenario_.job;
  const uint64_t stripe = scenario_.storage.stripe_bytes;
  const bool strided = job.layout == Layout::strided;
  const uint64_t node_extent = strided ? job.record_bytes * job.ranks_per_node : job.node_bytes();
  Writer writer;
  writer.bytes = job.rank_bytes();
  writer.request_bytes = strided ? job.record_bytes : std::min(stripe, job.rank_bytes());
  writer.stride = strided ? job.record_bytes * job.ranks() : writer.request_bytes;
  if (job.nodes > 1)
    writer.shared = std::max(0.0, 1 - static_cast<double>(node_extent) / static_cast<double>(stripe));
  std::vector<Writer> writers;
  uint32_t node_class = 0;
  const std::vector<Share> nodes = dealt(0, job.nodes, scenario_.precision.classes);
  const uint64_t flows = std::max<uint64_t>(1, scenario_.precision.flows / nodes.size());
  const std::vector<Share> ranks = dealt(0, job.ranks_per_node, flows);
  for (const Share& node : nodes) {
    for (const Share& rank : ranks) {
      writer.alike = node.count * rank.count;
      writer.on_node = rank.count;
      writer.span_bytes = node.count * node_extent;
      writer.node_class = node_class;
      writer.first_byte = node.first * node_extent + rank.first * (node_extent / job.ranks_per_node);
      writers.push_back(writer);
    }
    node_class++;
  }
  return writers;
}

// Each has a range of the call's bytes. Its boundaries are those of stripes, as near as may be.
std::vector<Writer> DirectProgram::aggregators() const {
  const CallShape shape = call_shape(scenario_);
  const uint64_t call_bytes = scenario_.job.record_bytes * scenario_.job.ranks();
  Writer writer;
  writer.request_bytes = shape.request_bytes;
  writer.stride = shape.request_bytes;
  std::vector<Writer> writers;
  for (const Share& each : dealt(call_bytes, shape.aggregators, scenario_.precision.classes)) {
    writer.alike = each.count;
    writer.bytes = each.each * calls_;
    writer.span_bytes = each.count * each.each;
    writer.first_byte = calls_before_ * call_bytes + each.first * (call_bytes / shape.aggregators);
    writers.push_back(writer);
    writer.node_class++;
  }
  return writers;
}

}  // namespace pmio::simulate
