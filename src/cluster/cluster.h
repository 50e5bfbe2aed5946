// The nodes of a job, or of some of its ranks, as one of its processes sees them: what it asks the others. In
// the leader of a node there is also the service that answers them. The leader is the lowest of these ranks
// that is on its node.
//
// It is started in two steps, because all leaders must listen before anybody knows their addresses. First
// start, then connect with the addresses that MPI has brought together. `stop`, or the destructor, comes
// before the job is left, after all processes have drained. Threads: any, but one at a time for these three.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/connection_pool.h"
#include "cluster/service.h"
#include "span/neighbours.h"

namespace pmio {

class Cluster : public Neighbours {
 public:
  struct Options {
    NodePlace place;     // of this process
    uint64_t ranks = 1;  // of the span
    bool leader = false;
    PeerToken token{};      // the same in all processes of the span
    std::string interface;  // peer/server.h; "" chooses one
  };
  static Result<std::unique_ptr<Cluster>> start(Job& job, const Options& options);
  PeerAddress address() const;  // in a leader; none in other processes
  // How many connections a process may have open at once. A leader accepts no more than from_others. Whoever
  // connects then is kept waiting, and gives up after 30 s.
  struct Connections {
    uint64_t to_others = 0, from_others = 0;
  };
  static Connections connections(uint64_t ranks, uint64_t ranks_here, uint64_t nodes, bool leader);
  // Both by node.
  Status connect(std::span<const PeerAddress> leaders, std::vector<NodeMembers> members);
  // Whether that node's leader answers. After all leaders have been connected.
  Status reach(uint32_t node) const { return leaders_->reach(node); }
  // The leader answers its node's ranks and other leaders; that of the first node leads the rounds.
  bool leads_node() const { return options_.leader; }
  bool leads_nodes() const { return options_.leader && options_.place.node == kCoordinator; }
  // Ends the service: whoever asks from now on gets an error.
  void stop();

  const NodePlace& place() const override { return options_.place; }
  Result<Answer> ask(uint64_t file, CallStamp upto, std::span<const Vector> ranges, Purpose purpose) override;
  Result<Held> holdings(uint64_t file, uint64_t calls, const Interval& bytes) override;
  Status drain(uint64_t file, uint64_t calls, bool all) override;
  Status forget(uint64_t file) override;
  Status truncated(uint64_t file) override;
  Status discard(uint64_t file) override;

  // A shared file pointer, as SharedPointer. `handle` is a number that is the same on all ranks.
  Result<int64_t> fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by);
  Status store(uint64_t handle, uint64_t epoch, int64_t value);

 private:
  explicit Cluster(const Options& options) : options_(options) {}
  Status tell_others(Request kind, const MessageWriter& message);

  Options options_;  // constant once connected
  std::unique_ptr<Service> service_;
  std::unique_ptr<Leaders> leaders_;
  std::unique_ptr<ConnectionPool> for_drains_;
};

}  // namespace pmio
