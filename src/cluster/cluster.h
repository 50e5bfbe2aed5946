// The nodes of a job, as one of its processes sees them: what it asks of the others, and, in the leader of a
// node, the service that answers them. The leader is the lowest rank of its node.
//
// Started in two steps, since all leaders must be listening before anybody knows their addresses: start, then
// connect with what MPI has brought together. stop before the job is left, after all processes have drained.
// Threads: any, but for these three.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/service.h"
#include "cluster/spare_leaders.h"
#include "node/neighbours.h"

namespace pmio {

class Cluster : public Neighbours {
 public:
  struct Options {
    NodePlace place;  // of this process
    bool leader = false;
    PeerToken token{};      // the same in all processes of the job
    std::string interface;  // peer/server.h; "" chooses one
  };
  static Result<std::unique_ptr<Cluster>> start(Job& job, const Options& options);
  PeerAddress address() const;  // of the leader; none elsewhere
  // How many connections a process may have open at once. A leader takes no more than from_others: who comes
  // then is kept waiting, and gives it up after 30 s.
  struct Connections {
    uint64_t to_others = 0, from_others = 0;
  };
  static Connections connections(uint64_t ranks, uint64_t ranks_here, uint64_t nodes, bool leader);
  // Both by node.
  Status connect(std::span<const PeerAddress> leaders, std::vector<NodeMembers> members);
  // Whether that node's leader answers. After all leaders have been connected.
  Status reach(uint32_t node) const { return leaders_->reach(node); }
  // No more service; whoever asks gets an error.
  void stop();

  const NodePlace& place() const override { return options_.place; }
  Result<Answer> ask(uint64_t file, CallStamp upto, std::span<const Vector> ranges, Purpose purpose) override;
  Result<Held> survey(uint64_t file, uint64_t calls, const Interval& bytes) override;
  Status drain(uint64_t file, uint64_t calls, bool all) override;
  Status forget(uint64_t file) override;
  Status truncated(uint64_t file) override;
  Status discard(uint64_t file) override;

  // A shared file pointer, by a number of its handle that is the same on all ranks; as SharedPointer.
  Result<int64_t> fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by);
  Status store(uint64_t handle, uint64_t epoch, int64_t value);

 private:
  explicit Cluster(const Options& options) : options_(options) {}
  Status tell_others(Request kind, const MessageWriter& message);

  Options options_;  // constant once connected
  std::unique_ptr<Service> service_;
  std::unique_ptr<Leaders> leaders_;
  std::unique_ptr<SpareLeaders> for_drains_;
};

}  // namespace pmio
