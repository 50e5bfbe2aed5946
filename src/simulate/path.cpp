#include "simulate/path.h"

#include <algorithm>
#include <cmath>

#include "simulate/shares.h"

namespace pmio::simulate {

Path::Path(const Scenario& scenario) : scenario_(scenario) {
  const uint64_t servers = scenario.storage.servers, groups = std::min(servers, kMostGroups);
  for (uint64_t at = 0; at < groups; at++) {
    groups_.emplace_back(static_cast<double>(even_share(servers, groups, at)));
  }
}

Station& Path::link(uint32_t node_class) {
  if (links_.size() <= node_class) links_.resize(node_class + 1);
  return links_[node_class];
}

double Path::servers_of(const Request& request) const {
  return std::min(request.stripes, static_cast<double>(scenario_.storage.servers));
}

double Path::seconds_on_server(const Request& request) const {
  const Storage& storage = scenario_.storage;
  const double each = storage.request_seconds + request.shared * storage.lock_seconds;
  const double servers = servers_of(request);
  return request.count * std::ceil(request.stripes / servers) * each +
         request.bytes / servers / storage.bytes_per_second;
}

// Places of the alike requests that are simulated each by itself.
uint64_t Path::places_of(const Request& request) const {
  const auto most = static_cast<double>(std::min<uint64_t>(request.alike, groups_.size()));
  return static_cast<uint64_t>(std::clamp(std::ceil(request.span), 1.0, most));
}

double Path::server_seconds(const Request& request) const {
  const double at_a_place = static_cast<double>(request.alike) / static_cast<double>(places_of(request));
  return seconds_on_server(request) * std::max(1.0, at_a_place / groups_.front().width());
}

double Path::serve(double now, const Request& request) {
  const uint64_t places = places_of(request), servers = scenario_.storage.servers;
  const double seconds = seconds_on_server(request);
  const double alike = static_cast<double>(request.alike) / static_cast<double>(places);
  const double apart =
      std::max(1.0, std::min(request.span, static_cast<double>(servers)) / static_cast<double>(places));
  double end = now;
  for (uint64_t place = 0; place < places; place++) {
    const uint64_t first = request.first_stripe + static_cast<uint64_t>(static_cast<double>(place) * apart);
    for (uint64_t part = 0; part < static_cast<uint64_t>(servers_of(request)); part++) {
      Station& group = groups_[(first + part) % servers % groups_.size()];
      end = std::max(end, group.serve(now, seconds, alike).end);
    }
  }
  return end;
}

double Path::server_work_seconds() const {
  double seconds = 0;
  for (const Station& group : groups_) seconds += group.work_seconds();
  return seconds;
}

}  // namespace pmio::simulate
