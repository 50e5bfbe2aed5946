// When a processor was last seen idle. It is looked for while the program pauses between its writes: only
// then does a drain in the pause cost the program nothing.
//
// Threads: is_due by one, the background; the rest by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace pmio {

class IdleSightings {
 public:
  static constexpr uint64_t kPauseNs = 20'000'000;

  // A write has ended whose program may pause.
  void note_write(uint64_t now_ns) { last_ns_.store(now_ns, std::memory_order_relaxed); }
  // Whether the program pauses, and it is time to look, as none has been seen yet. Less often the longer the
  // pause is: to look takes time from a program that computes on all processors.
  bool is_due(uint64_t now_ns) {
    const uint64_t last = last_ns_.load(std::memory_order_relaxed);
    if (last == 0 || since(last) || now_ns < last + kPauseNs) return false;
    if (looked_ns_ > last && now_ns - looked_ns_ < (looked_ns_ - last) / 2) return false;
    looked_ns_ = now_ns;
    return true;
  }
  void note_idle(uint64_t now_ns) { idle_ns_.store(now_ns, std::memory_order_relaxed); }
  // Whether one has been seen after that time.
  bool since(uint64_t ns) const { return idle_ns_.load(std::memory_order_relaxed) > ns; }

 private:
  std::atomic<uint64_t> last_ns_{0};  // 0: no write yet
  std::atomic<uint64_t> idle_ns_{0};
  uint64_t looked_ns_ = 0;
};

}  // namespace pmio
