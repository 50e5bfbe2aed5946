// Where the ranks of a node ask for a drain, in its leader: of all that wait for the same, one question goes
// to the coordinator, which has a connection for every question and not so many descriptors as a job has
// ranks. Threads: any.
#pragma once

#include <future>
#include <map>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "cluster/spare_leaders.h"
#include "peer/server.h"

namespace pmio {

class DrainDesk {
 public:
  explicit DrainDesk(const Leaders& leaders) : coordinator_(leaders) {}
  // Waits for the coordinator's answers to what has been asked.
  ~DrainDesk() = default;
  // Neighbours::drain; answers when it is done. Not on a thread that signals may reach.
  void request(uint64_t file, const DrainBody& wanted, PeerReply reply);

 private:
  using Wanted = std::tuple<uint64_t, uint64_t, uint64_t>;  // file, calls, all
  struct Group {
    std::vector<PeerReply> waiting;  // whose question has not been sent on
    bool asking = false;
    std::future<void> asks;
  };
  void ask(const Wanted& wanted, Group* group);

  SpareLeaders coordinator_;
  Mutex mutex_;
  std::map<Wanted, Group> groups_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
