#include <algorithm>

#include "simulate/logging.h"
#include "simulate/shares.h"

namespace pmio::simulate {
namespace {

constexpr double kPauseSeconds = 0.05;  // kPauseNs of node/background_drain.cpp

}  // namespace

Drain::Drain(const Scenario& scenario, EventLoop& loop, Path& path, NodeLog& log, Outcome& outcome)
    : scenario_(scenario),
      loop_(loop),
      log_(log),
      outcome_(outcome),
      writing_(loop, path, scenario.precision.steps, scenario.storage.stripe_bytes) {}

void Drain::want() {
  if (busy_ || asked_) return;
  asked_ = true;
  loop_.at(std::max(loop_.now(), not_before_), *this, kBegin);
}

void Drain::close(uint64_t upto_bytes) {
  closed_.push_back(upto_bytes);
  not_before_ = loop_.now();
  want();
}

void Drain::wake(uint32_t what) {
  switch (what) {
    case kBegin:
      asked_ = false;
      if (!busy_) begin_round();
      return;
    case kPlanned:
      return write();
    case kWritten:
      return loop_.at(loop_.now() + ending_seconds_, *this, kEnded);
    default:
      return finish();
  }
}

void Drain::begin_round() {
  taken_ = log_.held_bytes();
  if (taken_ == 0) return;
  busy_ = true;
  shape_ = round_shape(scenario_, static_cast<double>(taken_));
  const double records = static_cast<double>(taken_) / static_cast<double>(scenario_.job.record_bytes);
  double seconds =
      records * (scenario_.log.medium.merge_record_seconds + scenario_.log.medium.drain_record_seconds);
  if (scenario_.job.nodes > 1) {
    const RoundMessages before = before_writing(scenario_, shape_), after = after_writing(scenario_, shape_);
    ending_seconds_ = seconds_of(scenario_.network, after);
    const double talk = seconds_of(scenario_.network, before);
    seconds += talk;
    Rounds& rounds = outcome_.rounds;
    rounds.seconds += talk + ending_seconds_;
    rounds.messages += before.messages + after.messages;
    rounds.sent_bytes += before.sent_bytes + after.sent_bytes;
    rounds.coordinator_bytes = std::max(rounds.coordinator_bytes, before.coordinator_bytes);
  }
  outcome_.rounds.count++;
  loop_.at(loop_.now() + seconds, *this, kPlanned);
}

void Drain::write() { writing_.begin(writers(), *this, kWritten); }

// Each node begins with another server (window_order), and its streams are spread over the servers.
std::vector<Writer> Drain::writers() const {
  const uint64_t nodes = scenario_.job.nodes, servers = scenario_.storage.servers;
  const uint64_t stripe = scenario_.storage.stripe_bytes, streams = streams_of_node(servers, nodes);
  Writer writer;
  writer.request_bytes = std::max<uint64_t>(1, static_cast<uint64_t>(shape_.request_bytes));
  writer.stride = std::max(stripe, writer.request_bytes);
  writer.shared = shape_.shared;
  // The owners of mixed windows are sent what the other nodes have of them.
  if (shape_.mixed) writer.link_factor = 1 + static_cast<double>(nodes - 1) / static_cast<double>(nodes);
  std::vector<Writer> writers;
  for (const Share& node : dealt(0, nodes, scenario_.precision.classes)) {
    const double first =
        static_cast<double>(servers) * static_cast<double>(node.first) / static_cast<double>(nodes);
    for (uint64_t stream = 0; stream < streams; stream++) {
      const double further = static_cast<double>(servers * stream) / static_cast<double>(nodes * streams);
      writer.alike = node.count;
      writer.span_bytes = servers * stripe * node.count / nodes;
      writer.bytes = even_share(taken_, streams, stream);
      writer.first_byte = static_cast<uint64_t>(first + further) * stripe;
      writers.push_back(writer);
    }
    writer.node_class++;
  }
  return writers;
}

void Drain::finish() {
  busy_ = false;
  not_before_ = loop_.now() + kPauseSeconds;
  log_.drain(loop_.now(), taken_);
  complete_checkpoints();
  if (!closed_.empty()) not_before_ = loop_.now();
  if (!closed_.empty() || log_.is_filling()) want();
  program_->has_room();
}

void Drain::complete_checkpoints() {
  while (!closed_.empty() && closed_.front() <= log_.drained_bytes()) {
    closed_.erase(closed_.begin());
    program_->is_complete(loop_.now() + question_seconds(scenario_));
  }
}

}  // namespace pmio::simulate
