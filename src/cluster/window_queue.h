// The windows that a node writes in a round, in their order, for several streams that take one after the
// other. What other nodes have of the next ones is fetched meanwhile, so that the network is not idle while
// windows are written. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <vector>

#include "cluster/fetch.h"

namespace pmio {

class WindowQueue {
 public:
  static constexpr size_t kMostAhead = 3;                       // windows, for each stream
  static constexpr size_t kMostBytesAhead = size_t{256} << 20;  // but for one window for each stream
  struct Window {
    uint64_t number = 0;
    std::vector<uint32_t> nodes;  // the others that have bytes of it
  };
  // Called on threads of the queue's own. turn: of the fetches.
  using Fetch = std::function<Result<Fetched>(const Window& window, size_t turn)>;

  WindowQueue(std::vector<Window> windows, size_t streams, Fetch fetch);
  // The next one, with what others have of it, for which this waits. False: there are no more.
  Result<bool> take(Window* window, Fetched* others);
  void stop();  // there are no more from now on

 private:
  void begin_fetches();

  const Fetch fetch_;
  const size_t streams_;
  std::mutex mutex_;  // guards the rest
  std::vector<Window> windows_;
  size_t next_ = 0;                                 // to be taken
  size_t begun_ = 0;                                // the first one that is not being fetched
  std::deque<std::future<Result<Fetched>>> ahead_;  // of those between, which others have bytes of
  size_t turns_ = 0;
  size_t largest_;  // of the windows so far, in bytes fetched
};

}  // namespace pmio
