#include "twophase/call.h"

#include <algorithm>
#include <cstring>

#include "twophase/exchange.h"

namespace pmio {
namespace {

// A window costs about a microsecond, whatever it holds: if less of what is accessed than one byte in so many
// is wanted, each piece by itself is faster.
constexpr uint64_t kSparseWrite = 64, kSparseRead = 8;
// A piece so long gains nothing from an exchange.
constexpr uint64_t kLongPiece = uint64_t{1} << 20;

// Of calls whose ranks ask for an exchange: each rank gives at least so many bytes on the average, or waiting
// for the others costs more than is gained; and nearly all that is accessed is wanted, so that windows become
// long pieces of the file.
constexpr uint64_t kLeastAsked = uint64_t{32} << 10;
constexpr uint64_t kDenseParts = 4;  // one of them may be missing

// About how many pieces the request has in the file.
uint64_t pieces_of(const Stream& stream) {
  const TwoPhaseRequest& request = stream.request();
  if (request.bytes == 0) return 0;
  if (stream.contiguous()) return 1;
  constexpr size_t kMostCounted = 64;
  const Pattern& view = *request.view;
  uint64_t blocks = view.parts.size();
  if (blocks <= kMostCounted) {
    blocks = 0;
    for (const Vector& part : view.parts) blocks += part.count;
  }
  return static_cast<uint64_t>(static_cast<unsigned __int128>(request.bytes) * blocks / view.size) + 1;
}

bool is_worth_an_exchange(const TwoPhaseParts& parts, const CallPlan& plan, bool is_write) {
  const Buffering wish = is_write ? parts.options.writes : parts.options.reads;
  if (wish == Buffering::disable) return false;
  uint64_t accessed = 0, pieces = 0, asked = 0;
  for (const Interval& interval : plan.accessed) accessed += interval.bytes();
  for (uint32_t node = 0; node < parts.places.nodes(); ++node) {
    pieces += plan.nodes[node].pieces;
    asked += plan.nodes[node].asked_bytes;
  }
  if (wish == Buffering::asked) {
    return asked >= plan.bytes - asked && plan.bytes / parts.places.node_of.size() >= kLeastAsked &&
           accessed / kDenseParts * (kDenseParts - 1) <= plan.bytes;
  }
  const uint64_t sparse = is_write || wish == Buffering::enable ? kSparseWrite : kSparseRead;
  if (accessed / sparse > plan.bytes) return false;
  return wish == Buffering::enable || plan.bytes / std::max(pieces, uint64_t{1}) < kLongPiece;
}

// The leader's part: what its node's ranks have told, to the other nodes and from them.
Status exchange_summaries(TwoPhaseParts& parts, NodeSummary* nodes) {
  std::vector<RankSummary> ranks;
  for (uint32_t i = 0; i < parts.places.here().size(); ++i)
    ranks.push_back(parts.memory->rank(i).summaries[parts.calls % 2]);
  nodes[parts.places.node] = summary_of(ranks);
  return gather(parts.collective, parts.places,
                std::as_writable_bytes(std::span(nodes, parts.places.nodes())), sizeof(NodeSummary),
                &parts.counters.metadata_bytes);
}

}  // namespace

CallPlan plan_call(TwoPhaseParts& parts, const Stream& stream, bool is_write) {
  const uint64_t start = monotonic_ns(), waited = parts.counters.wait_ns, call = ++parts.calls;
  RankLine& line = parts.line();
  NodeLine& node = parts.memory->node();
  CallPlan plan{};
  NodeSummary* nodes = parts.memory->summaries(call);
  const TwoPhaseRequest& request = stream.request();
  line.summaries[call % 2] = {stream.range(), request.bytes, pieces_of(stream),
                              request.asks ? request.bytes : 0};
  line.arrived.store(call, std::memory_order_release);
  if (parts.places.leads()) {
    parts.wait([&] { return parts.all_reached(&RankLine::arrived, call); });
    if (!exchange_summaries(parts, nodes).ok()) node.lost.store(1, std::memory_order_relaxed);
    node.planned.store(call, std::memory_order_release);
    parts.ring_all();
  } else {
    parts.ring_rank(parts.places.leaders[parts.places.node]);
    parts.wait([&] { return node.planned.load(std::memory_order_acquire) >= call; });
  }
  if (node.lost.load(std::memory_order_relaxed) != 0) {
    plan.status = {Code::io, "a rank of the job has died"};
    return plan;
  }
  const std::span<const NodeSummary> all(nodes, parts.places.nodes());
  plan.nodes = nodes;
  plan.accessed = accessed(all);
  for (const NodeSummary& summary : all) plan.bytes += summary.bytes;
  plan.exchange = plan.bytes > 0 && is_worth_an_exchange(parts, plan, is_write);
  parts.counters.arrival_ns += monotonic_ns() - start;
  parts.counters.wait_ns = waited;
  return plan;
}

namespace {

CallResult result_of_node(TwoPhaseParts& parts) {
  CallResult result;
  for (uint32_t i = 0; i < parts.places.here().size(); ++i)
    result.add(parts.memory->rank(i).results[parts.calls % 2]);
  return result;
}

CallResult result_of_all(TwoPhaseParts& parts) {
  std::vector<CallResult> results(parts.places.nodes());
  results[parts.places.node] = result_of_node(parts);
  const Status told = gather(parts.collective, parts.places, std::as_writable_bytes(std::span(results)),
                             sizeof(CallResult), &parts.counters.metadata_bytes);
  CallResult result;
  for (const CallResult& each : results) result.add(each);
  if (!told.ok()) result.fail({0, UINT64_MAX}, told);
  return result;
}

}  // namespace

CallResult finish_call(TwoPhaseParts& parts, const CallResult& own) {
  const uint64_t call = parts.calls;
  RankLine& line = parts.line();
  line.results[call % 2] = own;
  line.served.store(call, std::memory_order_release);
  NodeLine& node = parts.memory->node();
  if (parts.places.leads()) {
    parts.wait([&] { return parts.all_reached(&RankLine::served, call); });
    node.results[call % 2] = result_of_all(parts);
    node.agreed.store(call, std::memory_order_release);
    parts.ring_all();
  } else {
    parts.ring_rank(parts.places.leaders[parts.places.node]);
    parts.wait([&] { return node.agreed.load(std::memory_order_acquire) >= call; });
  }
  return node.results[call % 2];
}

Status status_for(TwoPhaseParts& parts, const Stream& stream, const CallResult& result,
                  const Status& own_error) {
  if (result.code == 0) return {};
  const Interval mine = stream.within(result.failed);
  if (mine.begin >= mine.end) return {};
  if (!own_error.ok()) return own_error;
  std::string what = "another rank could not access '" + parts.store.path() + "' for this one";
  if (result.system_errno != 0) what += std::string(": ") + std::strerror(result.system_errno);
  return {static_cast<Code>(result.code), what, static_cast<int>(result.system_errno)};
}

}  // namespace pmio
