// The windows that a node writes in a round, in their order, for several streams that take one after the
// other. What other nodes have of the next one is fetched meanwhile, so that the network is not idle while
// windows are written: one for each stream (three made columns 6 % slower, on two cores). Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <vector>

#include "base/mutex.h"
#include "cluster/fetch.h"

namespace pmio {

class WindowQueue {
 public:
  struct Window {
    uint64_t number = 0;
    std::vector<uint32_t> nodes;  // the others that have bytes of it
  };
  // Called on threads of the queue's own, if there can be such. turn: of the fetches.
  using Fetch = std::function<Result<Fetched>(const Window& window, size_t turn)>;

  WindowQueue(std::vector<Window> windows, size_t streams, Fetch fetch);
  // The next one, with what others have of it, for which this waits. False: there are no more.
  Result<bool> take(Window* window, Fetched* others);
  void stop();  // there are no more from now on

 private:
  void begin_fetches() PMIO_REQUIRES(mutex_);

  const Fetch fetch_;
  const size_t streams_;
  Mutex mutex_;
  const std::vector<Window> windows_;
  size_t next_ PMIO_GUARDED_BY(mutex_) = 0;   // to be taken
  size_t begun_ PMIO_GUARDED_BY(mutex_) = 0;  // the first one that is not being fetched
  // Of those between, which others have bytes of.
  std::deque<std::future<Result<Fetched>>> ahead_ PMIO_GUARDED_BY(mutex_);
  size_t turns_ PMIO_GUARDED_BY(mutex_) = 0;
};

}  // namespace pmio
