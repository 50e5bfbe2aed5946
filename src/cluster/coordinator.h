// Leads the rounds of all nodes; one per job, in the leader of node 0.
//
// A round of one file has these steps; if there are many windows, plan, write and stop_serving come several
// times.
//
//   poll          How many collective write calls have all ranks finished? The round's horizon lies behind
//   the
//                 independent writes that came after the last of these calls, as far as there are such
//                 writes. If some rank is in the next call, the horizon lies behind what there is of that
//                 call.
//   plan          What does each node have, up to the horizon?
//   write         Each node writes its own windows, and the shared ones that it owns.
//   stop_serving  Each node learns where others have written, and no longer serves these bytes from its log.
//   finish        What was written counts as drained.
//   end           It counts as drained on all nodes.
//
// A failed finish leaves the file broken: some nodes count as drained what others do not. Nothing may be
// drained any more then; what is left is the log, and recovery.
//
// Threads: any for `request` and `leads`; the rounds run on a thread of the coordinator's own.
#pragma once

#include <deque>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "base/quiet_thread.h"
#include "cluster/leaders.h"
#include "cluster/plan.h"
#include "log/call_stamp.h"
#include "peer/server.h"

namespace pmio {

class Coordinator {
 public:
  explicit Coordinator(std::unique_ptr<Leaders> leaders);
  ~Coordinator();
  // Neighbours::drain. The answer comes when it is done.
  void request(uint64_t file, uint64_t calls, bool all, PeerReply reply);
  // Whether the round of that number (PlanBody) still goes on. It does from before its first `plan` until all
  // leaders that are there have been told of its end.
  bool leads(uint64_t round);

 private:
  struct Waiter {
    uint64_t file;
    uint64_t calls;
    bool all;
    PeerReply reply;
  };
  struct Poll {
    uint64_t finished = 0;  // collective write calls, by all ranks
    CallStamp horizon = 0;  // nothing earlier comes any more
    bool undrained = false;
  };
  void loop();
  // *now: the state when the round began. On success all up to its horizon is drained.
  Status round(uint64_t file, Poll* now);
  Status poll(uint64_t file, Poll* now);
  Status ask_plans(uint64_t file, const PlanBody& begin, RoundPlan* plan);
  Status carry_out(uint64_t file, const PlanBody& begin);
  // Sends one message to all leaders, or to each its own. Returns the first error of any.
  Status tell(Request kind, std::span<const MessageWriter> messages,
              std::vector<std::vector<std::byte>>* answers);
  // Whether anybody got an answer.
  bool answer(uint64_t file, size_t asked, const Status& status, const Poll& then);

  std::unique_ptr<Leaders> leaders_;
  std::set<uint64_t> broken_;
  Mutex mutex_;
  Condition condition_;
  std::deque<Waiter> waiters_ PMIO_GUARDED_BY(mutex_);
  uint64_t rounds_ PMIO_GUARDED_BY(mutex_) = 0;  // begun so far
  bool leads_ PMIO_GUARDED_BY(mutex_) = false;   // the last of these
  bool stop_ PMIO_GUARDED_BY(mutex_) = false;
  QuietThread thread_;
};

}  // namespace pmio
