// The clock of a simulation, and what happens next. Events at the same time happen in the order in which they
// were asked for, so that a simulation is the same each time. Threads: one.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace pmio::simulate {

// Whom events happen to. Outlives the loop's run.
class Actor {
 public:
  virtual void wake(uint32_t what) = 0;

 protected:
  ~Actor() = default;
};

class EventLoop {
 public:
  double now() const { return now_; }
  uint64_t events() const { return order_; }
  // Not before now.
  void at(double seconds, Actor& actor, uint32_t what);
  // Until nothing is left to happen.
  void run();

 private:
  struct Event {
    double seconds;
    uint64_t order;
    Actor* actor;
    uint32_t what;
    bool operator<(const Event& other) const {  // the queue gives the greatest first
      return seconds != other.seconds ? seconds > other.seconds : order > other.order;
    }
  };
  double now_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event> queue_;
};

}  // namespace pmio::simulate
