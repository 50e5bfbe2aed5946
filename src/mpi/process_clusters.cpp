// How the nodes of a job, or of some of its ranks, find each other.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <system_error>
#include <utility>

#include "mpi/agree.h"
#include "mpi/errors.h"
#include "mpi/group_files.h"
#include "mpi/library.h"
#include "mpi/opening.h"
#include "mpi/process.h"

namespace pmio {
namespace {

// Each has threads and connections of its own on each of its nodes.
constexpr size_t kMostGroups = 16;    // of a process
constexpr Span kSpansOfARank = 1024;  // many more, as threads may come at once

using HostName = std::array<char, 64>;  // ends with 0

HostName host_name() {
  HostName name{};
  (void)gethostname(name.data(), name.size() - 1);
  return name;
}

struct Member {
  uint32_t rank;  // of MPI_COMM_WORLD
  uint32_t node;  // of the job
};

template <class T>
std::vector<T> gathered(const T& mine, size_t ranks, MPI_Comm comm) {
  std::vector<T> all(ranks);
  mpi().Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  return all;
}

// The nodes of a communicator's ranks, numbered in the order of their lowest ranks.
struct Nodes {
  NodePlace place;           // of this process
  std::vector<uint32_t> of;  // by rank of the communicator
  std::vector<bool> leads;   // likewise
  int coordinator = 0;       // rank of the communicator
};

Nodes nodes_of(const std::vector<Member>& members, const Member& mine) {
  std::vector<size_t> order(members.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return members[a].rank < members[b].rank; });
  Nodes nodes;
  nodes.of.resize(members.size());
  nodes.leads.resize(members.size());
  nodes.coordinator = static_cast<int>(order.front());
  std::map<uint32_t, uint32_t> numbers;  // by node of the job
  for (const size_t at : order) {
    const auto [number, is_first] =
        numbers.try_emplace(members[at].node, static_cast<uint32_t>(numbers.size()));
    nodes.of[at] = number->second;
    nodes.leads[at] = is_first;
    if (is_first) nodes.place.members.emplace_back();
    nodes.place.members[number->second].ranks.push_back(members[at].rank);
  }
  nodes.place.node = numbers.at(mine.node);
  nodes.place.nodes = static_cast<uint32_t>(numbers.size());
  nodes.place.ranks = nodes.place.members[nodes.place.node].ranks;
  return nodes;
}

// The job on this node, and this process's part of the service.
Result<std::unique_ptr<Cluster>> start_cluster(const Result<Job*>& job, const Cluster::Options& options) {
  if (options.place.nodes > kMostNodes) return Status(Code::unsupported, "more nodes than pmio can number");
  if (!job.ok()) return job.status();
  try {
    return Cluster::start(*job.value(), options);
  } catch (const std::system_error& failure) {
    return Status::from_errno(failure.code().value(), "cannot start the threads that answer other nodes");
  }
}

// Calls the next node's leader, and the coordinator. So an interface that others cannot reach shows here, and
// not when something has been logged.
Status reach_nodes(const Cluster& cluster) {
  if (!cluster.leads_node()) return {};
  const NodePlace& place = cluster.place();
  for (const uint32_t node : {kCoordinator, (place.node + 1) % place.nodes}) {
    if (const Status status = cluster.reach(node); !status.ok()) return cannot_talk(status);
  }
  return {};
}

// Collective. False, on all ranks: one of them has an error.
bool all_go_on(const Status& status, MPI_Comm comm) {
  if (!status.ok()) complain_once(status.message() + "; the program runs on without the log");
  return on_all_ranks(status.ok(), comm);
}

}  // namespace

std::unique_ptr<Cluster> Process::meet_nodes(const Hints& hints, MPI_Comm comm, Span* span) {
  int ranks = 1;
  mpi().Comm_size(comm, &ranks);
  const auto count = static_cast<size_t>(ranks);
  const Member mine{static_cast<uint32_t>(rank_), place_.node};
  Nodes nodes = nodes_of(gathered(mine, count, comm), mine);
  int rank = 0;
  mpi().Comm_rank(comm, &rank);
  struct {
    Span span;
    PeerToken token;
  } ours{*span, {}};
  const bool all = *span == kAllRanks;
  if (rank == nodes.coordinator) {
    // Whoever asks a group for a file is known by the token of the claims.
    ours.token = all ? random_token() : claims_->token();
    if (!all) ours.span = new_span();
  }
  mpi().Bcast(&ours, sizeof ours, MPI_BYTE, nodes.coordinator, comm);
  *span = ours.span;
  Cluster::Options options;
  options.place = nodes.place;
  options.place.members.clear();  // not known yet where they are
  options.place.span = ours.span;
  options.ranks = count;
  options.leader = nodes.leads[static_cast<size_t>(rank)];
  options.token = ours.token;
  options.interface = hints.interface;
  Result<std::unique_ptr<Cluster>> started = start_cluster(job(hints), options);
  if (!all_go_on(started.status(), comm)) return nullptr;
  std::unique_ptr<Cluster> cluster = std::move(started).value();
  struct Place {
    PeerAddress address;  // none: not its node's leader
    HostName host;
  };
  const std::vector<Place> places = gathered(Place{cluster->address(), host_name()}, count, comm);
  std::vector<PeerAddress> leaders(nodes.place.nodes);
  for (size_t i = 0; i < count; i++) {
    if (!nodes.leads[i]) continue;
    leaders[nodes.of[i]] = places[i].address;
    nodes.place.members[nodes.of[i]].host = places[i].host.data();
  }
  const Status connected = cluster->connect(leaders, std::move(nodes.place.members));
  mpi().Barrier(comm);  // nobody calls a leader that does not know the others yet
  return all_go_on(connected.ok() ? reach_nodes(*cluster) : connected, comm) ? std::move(cluster) : nullptr;
}

Cluster* Process::join_nodes(const Hints& hints) {
  const LockGuard joining(join_mutex_);
  if (!nodes_joined_) {
    nodes_joined_ = true;
    Span span = kAllRanks;
    std::unique_ptr<Cluster> cluster = meet_nodes(hints, comm_, &span);
    const LockGuard lock(mutex_);
    all_.cluster = std::move(cluster);
    all_.comm = comm_;
  }
  const LockGuard lock(mutex_);
  return all_.cluster.get();
}

// Of this rank, which is the coordinator.
Span Process::new_span() {
  static std::atomic<uint32_t> groups{0};
  return kAllRanks + 1 + static_cast<Span>(rank_) * kSpansOfARank + groups.fetch_add(1);
}

// Of several the first one.
Process::Groups::iterator Process::find_group(const std::vector<int>& ranks) {
  const auto at = groups_.lower_bound({ranks, kThisNode});
  return at != groups_.end() && at->first.first == ranks ? at : groups_.end();
}

// Two threads may come with the same ranks at once: each pair of them makes a cluster of its own then. Once
// all ranks know of both, it is the first one for all of them.
Cluster* Process::join_group(const Hints& hints, Opening& opening, const char** why_not) {
  std::vector<int> ranks = opening.in_world();
  std::sort(ranks.begin(), ranks.end());
  int64_t known = 0;
  Cluster* cluster = nullptr;
  {
    const LockGuard lock(mutex_);
    if (const auto at = find_group(ranks); at != groups_.end()) {
      known = at->first.second;
      cluster = at->second.cluster.get();
    } else if (groups_.size() >= kMostGroups) {
      known = -1;
    }
  }
  *why_not = "too many groups of ranks on several nodes";
  const auto [least, most] = opening.range(known);
  if (least < 0) return nullptr;
  *why_not = kUnreachable;
  if (least == most && known != 0) return cluster;
  Span span = kThisNode;
  Group met;
  met.cluster = meet_nodes(hints, opening.comm(), &span);
  if (met.cluster) met.comm = opening.in_order();
  const LockGuard lock(mutex_);
  Group& group = groups_[{std::move(ranks), span}];
  group.cluster = std::move(met.cluster);
  group.comm = met.comm;
  return group.cluster.get();
}

Group* Process::known_group(Opening& opening) {
  if (!opening.is_sorted()) return nullptr;
  const LockGuard lock(mutex_);
  if (opening.all_of_the_job()) return all_.cluster ? &all_ : nullptr;
  const auto at = find_group(opening.in_world());
  const bool known = at != groups_.end() && at->second.cluster && at->second.comm != MPI_COMM_NULL;
  return known ? &at->second : nullptr;
}

// Of all ranks of the job at once.
void Process::free_group_comms() {
  const LockGuard lock(mutex_);
  for (auto& [ranks, group] : groups_)
    if (group.cluster && group.comm != MPI_COMM_NULL) mpi().Comm_free(&group.comm);
}

}  // namespace pmio
