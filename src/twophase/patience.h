// How a rank waits for others: some microseconds on its processor, which is what most waits take; then it
// lets other threads have the processor; at last it sleeps, so that a machine with fewer processors than
// ranks does not pass its time with waiting. To sleep and be woken takes longer than most waits: ranks that
// sleep make others wait, which sleep then, too.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pmio {

class Patience {
 public:
  // eager: if each rank of the node has a processor of its own, so that waiting takes nobody's.
  explicit Patience(bool eager = false) : eager_(eager) {}
  // Waits a moment. False: it has waited long, and should sleep.
  bool pause() {
    ++turns_;
    if (turns_ <= on_processor()) {
#if defined(__x86_64__)
      _mm_pause();
#endif
      return true;
    }
    if (turns_ > on_processor() + kTurnsAside) return false;
    sched_yield();
    return true;
  }
  bool is_long() const { return turns_ >= on_processor(); }
  void renew() { turns_ = 0; }

 private:
  unsigned on_processor() const { return eager_ ? kTurnsIfEager : kTurns; }

  // A turn on the processor takes some 40 ns. One aside takes half a microsecond, if no other thread wants
  // the processor; else it is the other's.
  static constexpr unsigned kTurns = 64, kTurnsIfEager = 256, kTurnsAside = 400;
  const bool eager_;
  unsigned turns_ = 0;
};

// A rank that others can wake, also from other processes. The bell lies in memory that they share.
using Bell = std::atomic<uint32_t>;  // 1: the rank sleeps, or is about to
// Whoever rings has stored before, with release, what the rank waits for.
void ring(Bell& bell);
// To be called on the rank's own bell before it looks a last time for what it waits for.
void lie_down(Bell& bell);
// Then it sleeps, unless somebody has rung since; never longer than that.
void sleep_on(Bell& bell, uint64_t most_ns);
void get_up(Bell& bell);

}  // namespace pmio
