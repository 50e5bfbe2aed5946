// A leader's part in the rounds of the coordinator. It holds the round that is going on, and writes in as
// many streams as window_order.h says, each on a thread. Threads: one for all but `pieces`, which may run on
// any.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "cluster/leaders.h"
#include "cluster/window_queue.h"
#include "node/job.h"
#include "span/node_round.h"

namespace pmio {

class RoundPart {
 public:
  RoundPart(Job& job, Leaders& leaders, uint32_t node) : job_(job), leaders_(leaders), node_(node) {}

  // Requests of message.h. body: what follows the file's number.
  Status plan(uint64_t file, MessageReader body, MessageWriter* answer);
  Status write(uint64_t file, MessageReader body, MessageWriter* answer);
  Status pieces(uint64_t file, MessageReader body, MessageWriter* answer);
  Status stop_serving(uint64_t file, MessageReader body);
  Status finish(uint64_t file, MessageReader body);
  Status end(uint64_t file, MessageReader body);

  // Drops a round that its coordinator has left: such a round holds up whoever discards the file's log.
  void abandon();
  // Called while no request comes. Abandons the round if the coordinator is gone, leads it no more, or has
  // not been heard for five minutes.
  void look_after();

 private:
  struct Changed {
    NodeRound* round = nullptr;
    std::vector<NodeRound::Foreign> foreign;
  };
  struct Told {
    uint64_t window = 0;
    std::vector<Piece> pieces;
  };
  Result<NodeRound*> current(uint64_t file, uint64_t number);
  uint64_t number();
  void set_number(uint64_t number);
  Status begin(uint64_t file, const PlanBody& plan);
  Result<std::vector<WindowQueue::Window>> read_work(NodeRound& round, const WriteBody& wanted,
                                                     MessageReader body) const;
  Result<Changed> read_changed(uint64_t file, MessageReader body);
  // Writes windows until there are no more. mixed: those in which bytes were in more than one piece.
  static Status write_stream(NodeRound& round, WindowQueue& queue, std::vector<uint64_t>* mixed);
  Leaders& leaders_of_stream(size_t stream);
  std::vector<Piece> take_told(uint64_t window) PMIO_REQUIRES(mutex_);

  Job& job_;
  Leaders& leaders_;
  const uint32_t node_;
  std::vector<std::unique_ptr<Leaders>> more_leaders_;  // by stream: none waits for another one's answers
  unsigned unheard_ = 0;                                // how often in a row look_after got no answer
  Mutex mutex_;                                         // guards the pointer to the round, not the round
  std::shared_ptr<NodeRound> round_ PMIO_GUARDED_BY(mutex_);
  std::deque<Told> told_ PMIO_GUARDED_BY(mutex_);  // the last windows that others have been told a part of
  uint64_t file_ PMIO_GUARDED_BY(mutex_) = 0;
  uint64_t number_ PMIO_GUARDED_BY(mutex_) = 0;  // PlanBody::round; the highest that has come
};

}  // namespace pmio
