// The way of bytes from the nodes to the I/O servers: the link of a node, the core of the network, a server.
//
// A request is cut through: a station begins with it before the station in front has sent all of it, and ends
// no earlier than that. So a request alone takes as long as the slowest of the three. Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/scenario.h"
#include "simulate/station.h"

namespace pmio::simulate {

class Path {
 public:
  static constexpr uint64_t kMostGroups = 128;  // of servers; as many servers are simulated each by itself

  explicit Path(const Scenario& scenario);
  Station& link(uint32_t node_class);
  bool has_core() const { return scenario_.network.core_bytes_per_second > 0; }
  double link_seconds(double bytes) const { return bytes / scenario_.network.link_bytes_per_second; }
  double core_seconds(double bytes) const { return bytes / scenario_.network.core_bytes_per_second; }
  double round_trip_seconds() const { return scenario_.network.message_seconds; }
  Station& core() { return core_; }

  // Some requests in a row of one writer, to stripes that follow each other.
  struct Request {
    uint64_t first_stripe = 0;
    double count = 0;    // requests in a row
    double bytes = 0;    // of all of them
    double stripes = 1;  // of each; they are written at once
    double shared = 0;   // the part whose stripe another node wrote last
    uint64_t alike = 1;  // writers that do the same at the same time
    double span = 1;     // stripes that their places are spread over, evenly
  };
  // As serve, if nobody else were there.
  double server_seconds(const Request& request) const;
  // When the last of them is served.
  double serve(double now, const Request& request);

  uint64_t written_bytes() const { return written_bytes_; }
  void count_written(uint64_t bytes) { written_bytes_ += bytes; }
  double server_work_seconds() const;  // of all servers together

 private:
  double servers_of(const Request& request) const;
  uint64_t places_of(const Request& request) const;
  double seconds_on_server(const Request& request) const;

  const Scenario& scenario_;
  std::vector<Station> links_, groups_;
  Station core_;
  uint64_t written_bytes_ = 0;
};

}  // namespace pmio::simulate
