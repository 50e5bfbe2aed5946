// Where the ranks of a node ask their leader for a drain. All that wait for the same share one question to
// the coordinator. Each question takes one of its connections, and a job may have more ranks than the
// coordinator has descriptors. Threads: any.
#pragma once

#include <future>
#include <map>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "cluster/connection_pool.h"
#include "peer/server.h"

namespace pmio {

class DrainDesk {
 public:
  explicit DrainDesk(const Leaders& leaders) : coordinator_(leaders) {}
  // Waits for the coordinator's answers to what has been asked.
  ~DrainDesk() = default;
  // Neighbours::drain. The answer comes when it is done. Not to be called on a thread that signals may reach.
  void request(uint64_t file, const DrainBody& wanted, PeerReply reply);

 private:
  using Wanted = std::tuple<uint64_t, uint64_t, uint64_t>;  // file, calls, all
  struct Group {
    std::vector<PeerReply> waiting;  // those whose question has not been sent on
    bool asking = false;
    std::future<void> asks;
  };
  void ask(const Wanted& wanted, Group* group);

  ConnectionPool coordinator_;
  Mutex mutex_;
  std::map<Wanted, Group> groups_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
