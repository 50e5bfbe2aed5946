// How a rank's time is divided between the collective writes that are gathered and what the program does
// between them. If it does more between them, and leaves a processor idle, the log is drained and warmed
// meanwhile, and costs it less.
// Threads: one at a time.
#pragma once

#include <cstdint>

namespace pmio {

class Tempo {
 public:
  // Around a call. idle: a processor was, since the last one.
  void begin(uint64_t now_ns, bool idle) {
    const uint64_t pause = now_ns - ended_ns_;
    if (ended_ns_ != 0 && pause >= kLeastPauseNs && idle) pauses_ns_ += pause;
    began_ns_ = now_ns;
  }
  void end(uint64_t now_ns) {
    in_calls_ns_ += now_ns - began_ns_;
    ended_ns_ = now_ns;
  }
  uint64_t ended_ns() const { return ended_ns_; }
  // Whether more time has passed in pauses between the calls than in them.
  bool computes() const { return pauses_ns_ > in_calls_ns_; }

 private:
  // Nothing is drained in shorter ones (BackgroundDrain).
  static constexpr uint64_t kLeastPauseNs = 40'000'000;
  uint64_t began_ns_ = 0, ended_ns_ = 0, pauses_ns_ = 0, in_calls_ns_ = 0;
};

}  // namespace pmio
