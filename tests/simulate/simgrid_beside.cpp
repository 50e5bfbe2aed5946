// Phases of writing by src/simulate beside the same by SimGrid (https://simgrid.org), up to 500 nodes.
//
// SimGrid shares a link fairly between all who send over it. Here requests are served one after the other.
// For equal writers a phase ends at nearly the same time, which may be a tenth apart. The nodes are a
// multiple of the servers, or far more: writers that share fairly never leave a server that more of them
// began with. If a request takes a time of its own, a mutex makes SimGrid's servers serve one after the
// other.
#include <cstdio>

#ifdef PMIO_SIMGRID

#include <cmath>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "support/writing_phase.h"

namespace {

namespace s4u = simgrid::s4u;
using pmio::simulate::Scenario;
using pmio::simulate::Writer;

constexpr uint64_t kRequest = 1048576;
constexpr uint64_t kRequests = 8;  // of a node

struct Case {
  const char* name;
  uint64_t nodes, servers;
  double link, core, server;  // bytes a second; core 0: no bound
  double request_seconds;
};

double here(const Case& of) {
  Scenario scenario;
  scenario.network.link_bytes_per_second = of.link;
  scenario.network.core_bytes_per_second = of.core;
  scenario.network.message_seconds = 0;
  scenario.storage = {.servers = of.servers,
                      .bytes_per_second = of.server,
                      .request_seconds = of.request_seconds,
                      .lock_seconds = 0,
                      .stripe_bytes = kRequest};
  scenario.precision.steps = kRequests;
  std::vector<Writer> writers;
  for (uint32_t node = 0; node < of.nodes; node++)
    writers.push_back({.node_class = node,
                       .bytes = kRequests * kRequest,
                       .request_bytes = kRequest,
                       .first_byte = node * kRequest,
                       .stride = kRequest});
  return pmio::test::write_phase(scenario, writers).seconds;
}

struct Cluster {
  std::vector<s4u::Host*> nodes, servers;
  std::vector<s4u::MutexPtr> locks;  // of the servers
};

Cluster build(const Case& of) {
  Cluster cluster;
  auto* zone = s4u::create_full_zone("cluster");
  const auto link = [zone](const std::string& name, double rate) {
    return zone->create_link(name, rate)->seal();
  };
  auto* const core = of.core > 0 ? link("core", of.core) : nullptr;
  std::vector<s4u::Link*> to_servers;
  for (uint64_t at = 0; at < of.servers; at++) {
    cluster.servers.push_back(zone->create_host("server-" + std::to_string(at), 1e9)->seal());
    to_servers.push_back(link("to-" + std::to_string(at), of.server));
    cluster.locks.push_back(s4u::Mutex::create());
  }
  for (uint64_t at = 0; at < of.nodes; at++) {
    auto* const node = zone->create_host("node-" + std::to_string(at), 1e9)->seal();
    auto* const from = link("from-" + std::to_string(at), of.link);
    cluster.nodes.push_back(node);
    for (uint64_t to = 0; to < of.servers; to++) {
      std::vector<s4u::LinkInRoute> way{s4u::LinkInRoute(from)};
      if (core != nullptr) way.emplace_back(core);
      way.emplace_back(to_servers[to]);
      zone->add_route(node->get_netpoint(), cluster.servers[to]->get_netpoint(), nullptr, nullptr, way, true);
    }
  }
  zone->seal();
  return cluster;
}

void write(const Cluster& cluster, const Case& of, uint64_t node) {
  for (uint64_t at = 0; at < kRequests; at++) {
    const uint64_t server = (node + at) % of.servers;
    if (of.request_seconds > 0) {
      cluster.locks[server]->lock();
      s4u::this_actor::sleep_for(of.request_seconds);
    }
    s4u::Comm::sendto(cluster.nodes[node], cluster.servers[server], kRequest);
    if (of.request_seconds > 0) cluster.locks[server]->unlock();
  }
}

double by_simgrid(s4u::Engine& engine, const Case& of) {
  const Cluster cluster = build(of);
  for (uint64_t node = 0; node < of.nodes; node++)
    s4u::Actor::create("writer", cluster.nodes[node], [&cluster, &of, node] { write(cluster, of, node); });
  engine.run();
  return s4u::Engine::get_clock();
}

constexpr Case kCases[] = {
    {"servers", 12, 4, 1e9, 0, 1e8, 0},       {"links", 100, 50, 1e7, 0, 1e9, 0},
    {"servers", 500, 8, 1e9, 0, 1e9, 0},      {"core", 500, 16, 1e9, 2e9, 1e9, 0},
    {"requests", 100, 8, 1e9, 0, 1e9, 0.002}, {"requests", 500, 8, 1e9, 0, 5e8, 0.001}};

// SimGrid has one engine in a process, whose clock goes on: one case a process.
int compare(s4u::Engine& engine, const Case& of) {
  const double theirs = by_simgrid(engine, of), ours = here(of);
  const bool near = std::abs(ours - theirs) <= 0.1 * theirs;
  std::printf("%-10s %5lu nodes %3lu servers: %8.3f s, by SimGrid %8.3f s%s\n", of.name,
              static_cast<unsigned long>(of.nodes), static_cast<unsigned long>(of.servers), ours, theirs,
              near ? "" : ": MORE THAN A TENTH APART");
  return near ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  // Bandwidths are what they say, whatever the latency.
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  const size_t which = argc > 1 ? std::stoul(argv[1]) : 0;
  return which < std::size(kCases) ? compare(engine, kCases[which]) : 2;
}

#else

int main() {
  std::puts("left out: SimGrid was not there when this was built (libsimgrid-dev)");
  return 77;
}

#endif
