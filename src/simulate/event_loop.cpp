#include "simulate/event_loop.h"

#include "base/status.h"

namespace pmio::simulate {

void EventLoop::at(double seconds, Actor& actor, uint32_t what) {
  PMIO_ASSERT(seconds >= now_);
  queue_.push({seconds, order_++, &actor, what});
}

void EventLoop::run() {
  while (!queue_.empty()) {
    const Event next = queue_.top();
    queue_.pop();
    now_ = next.seconds;
    next.actor->wake(next.what);
  }
}

}  // namespace pmio::simulate
