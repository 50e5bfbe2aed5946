#include "cluster/cluster.h"

#include <algorithm>
#include <set>

#include "cluster/window_order.h"
#include "drain/blocks.h"

namespace pmio {

// Connections that stay open. A leader has them to each other leader. They are for questions, for its part in
// a round and its streams, and for the drains that it asks for. Any rank has one to each leader, for
// questions.
constexpr uint64_t kOfALeader = 2 + kMostStreams + ConnectionPool::kMostIdle;
constexpr uint64_t kOfARank = 1;
// A rank has these to its own leader, besides.
constexpr uint64_t kForDrains = ConnectionPool::kMostIdle;
// For strangers, for peers that connect again before their old connections are gone, and for more drains at
// once.
constexpr uint64_t kSpare = 64;

Cluster::Connections Cluster::connections(uint64_t ranks, uint64_t ranks_here, uint64_t nodes, bool leader) {
  Connections all;
  all.to_others = nodes * kOfARank + kForDrains;
  if (!leader) return all;
  all.to_others += nodes * kOfALeader;
  all.from_others = ranks * kOfARank + ranks_here * (kForDrains + 1) + nodes * (kOfALeader + 1) + kSpare;
  return all;
}

Result<std::unique_ptr<Cluster>> Cluster::start(Job& job, const Options& options) {
  std::unique_ptr<Cluster> cluster(new Cluster(options));
  const Connections most =
      connections(options.ranks, options.place.ranks.size(), options.place.nodes, options.leader);
  PMIO_TRY(job.reserve_descriptors(most.to_others + most.from_others));
  if (!options.leader) return cluster;
  auto service = Service::start(
      job, {options.interface, options.token, options.place.node, options.place.span, most.from_others});
  if (!service.ok()) return service.status();
  cluster->service_ = std::move(service).value();
  return cluster;
}

PeerAddress Cluster::address() const { return service_ != nullptr ? service_->address() : PeerAddress(); }

Status Cluster::connect(std::span<const PeerAddress> leaders, std::vector<NodeMembers> members) {
  options_.place.members = std::move(members);
  leaders_ = std::make_unique<Leaders>(leaders, options_.token, options_.place.node);
  for_drains_ = std::make_unique<ConnectionPool>(*leaders_);
  return service_ != nullptr ? service_->connect(*leaders_) : Status();
}

void Cluster::stop() { service_.reset(); }

Result<Neighbours::Answer> Cluster::ask(uint64_t file, CallStamp upto, std::span<const Vector> ranges,
                                        Purpose purpose) {
  const MessageWriter question =
      MessageWriter().put(file).put(AskBody{upto, static_cast<uint64_t>(purpose)}).put_list(ranges);
  Answer answer;
  std::set<uint64_t> settled;
  const auto results = leaders_->ask_all(leaders_->others(), Request::ask, {&question, 1});
  for (size_t i = 0; i < results.size(); i++) {
    if (!results[i].ok()) return results[i].status();
    AskAnswer one{};
    if (!MessageReader(results[i].value()).get(&one)) return nonsense();
    answer.undrained = answer.undrained || one.undrained != 0;
    answer.end = std::max(answer.end, one.end);
    if (one.synced != 0) answer.synced.push_back({leaders_->others()[i], one.synced});
    answer.clock = std::max(answer.clock, one.clock);
    settled.insert(one.settled);
  }
  if (settled.size() == 1 && *settled.begin() != 0) answer.settled = *settled.begin() - 1;
  return answer;
}

Result<Neighbours::Held> Cluster::holdings(uint64_t file, uint64_t calls, const Interval& bytes) {
  const MessageWriter question = MessageWriter().put(file).put(HoldingsBody{calls, bytes});
  Held all{true, {}, 0, {}};
  const auto results = leaders_->ask_all(leaders_->others(), Request::holdings, {&question, 1});
  for (size_t i = 0; i < results.size(); i++) {
    if (!results[i].ok()) return results[i].status();
    HoldingsAnswer one{};
    std::vector<Vector> held;
    MessageReader reader(results[i].value());
    if (!reader.get(&one) || !reader.get_list(&held) || !well_ordered(held)) return nonsense();
    all.complete = all.complete && one.complete != 0;
    all.end = std::max(all.end, one.end);
    if (one.synced != 0) all.synced.push_back({leaders_->others()[i], one.synced});
    if (!held.empty()) all.held.push_back(std::move(held));
  }
  return all;
}

Status Cluster::drain(uint64_t file, uint64_t calls, bool all) {
  const MessageWriter wanted = MessageWriter().put(file).put(DrainBody{calls, all ? 1u : 0u});
  return for_drains_->ask(options_.place.node, Request::drain_for_me, wanted).status();
}

Status Cluster::tell_others(Request kind, const MessageWriter& message) {
  for (auto& result : leaders_->ask_all(leaders_->others(), kind, {&message, 1}))
    if (!result.ok()) return result.status();
  return {};
}

Status Cluster::forget(uint64_t file) { return tell_others(Request::forget, MessageWriter().put(file)); }

Status Cluster::truncated(uint64_t file) {
  return tell_others(Request::truncated, MessageWriter().put(file));
}

Status Cluster::discard(uint64_t file) { return tell_others(Request::discard, MessageWriter().put(file)); }

Result<int64_t> Cluster::fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by) {
  const auto answer = leaders_->ask(kCoordinator, Request::fetch_add,
                                    MessageWriter().put(handle).put(SharedPointerBody{epoch, initial, by}));
  if (!answer.ok()) return answer.status();
  int64_t before = 0;
  if (!MessageReader(answer.value()).get(&before)) return nonsense();
  return before;
}

Status Cluster::store(uint64_t handle, uint64_t epoch, int64_t value) {
  return leaders_
      ->ask(kCoordinator, Request::store, MessageWriter().put(handle).put(SharedPointerBody{epoch, value, 0}))
      .status();
}

}  // namespace pmio
