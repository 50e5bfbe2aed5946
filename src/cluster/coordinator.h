// Leads the rounds of all nodes; one per job, in the leader of node 0.
//
// A round of one file: poll (how many collective write calls have all ranks finished? the cut is behind the
// independent writes that came after the last of these, as far as they go; or, where somebody is in the next
// call, behind what there is of it), plan (what does each node have, up to the cut?), write (each its own,
// and the windows it owns), conceal (where have others written?), finish (it counts as drained), end (it does
// so everywhere). Of many windows there are several plan, write and conceal. After a failed finish the file
// is broken: some nodes count as drained what others do not, so that nothing may be drained any more; all
// that is left is the log, and recovery. Threads: request any; the rounds on one of its own.
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
  // Neighbours::drain; answers when it is done.
  void request(uint64_t file, uint64_t calls, bool all, PeerReply reply);
  // Whether that round (PlanBody) still goes on: from before its first `plan` until all leaders that are
  // there have been told of its end.
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
    CallStamp cut = 0;      // nothing comes any more that is earlier
    bool undrained = false;
  };
  void loop();
  // *now: as it was when the round began; all up to its cut is drained on success.
  Status round(uint64_t file, Poll* now);
  Status poll(uint64_t file, Poll* now);
  Status ask_plans(uint64_t file, const PlanBody& begin, RoundPlan* plan);
  Status carry_out(uint64_t file, const PlanBody& begin);
  // The same to all leaders, or to each its own; the first error of any.
  Status tell(Request kind, std::span<const MessageWriter> messages,
              std::vector<std::vector<std::byte>>* answers);
  // Whether somebody waits no more.
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
