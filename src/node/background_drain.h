// When the background thread drains an open file. It does if the log fills, if nobody has appended for a
// while, or if something has been in the log for long. The last two do not hold for a file that is held back,
// so that its stripes may become full. Threads: the background thread only, if nothing else is said.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/reach.h"
#include "node/shared_file.h"

namespace pmio {

class BackgroundDrain {
 public:
  BackgroundDrain(SharedFile& file, Reach& reach) : file_(file), reach_(reach) {}

  // Any thread.
  void hold_back(bool holds) { holds_back_.store(holds, std::memory_order_relaxed); }
  bool holds_back() const { return holds_back_.load(std::memory_order_relaxed); }

  struct Times {
    uint64_t idle_ns;   // nobody has appended for so long
    uint64_t retry_ns;  // not before so long after a failure
    uint64_t age_ns;    // something has been in the log for so long; 0: that is no reason
  };
  // Drains if the log fills (`filling`), if somebody wants it, or if one of these times is over.
  void drain_if_due(bool filling, const Times& times);
  // Whether nothing has been appended for so long, and all is drained, as far as that was seen the last time.
  bool is_quiet(uint64_t now_ns, uint64_t for_ns) const {
    return all_drained_ && now_ns - changed_ns_ > for_ns;
  }

 private:
  bool is_old(uint64_t appended, uint64_t drained, uint64_t now, uint64_t age_ns);

  SharedFile& file_;
  Reach& reach_;
  std::atomic<bool> holds_back_{false};
  uint64_t appended_ = 0;
  uint64_t changed_ns_ = 0;  // 0: never looked
  bool all_drained_ = false;
  uint64_t retry_ns_ = 0;
  uint64_t mark_ = 0;     // so many records had been appended
  uint64_t mark_ns_ = 0;  // at this time, when as many as the mark before had been drained
};

}  // namespace pmio
