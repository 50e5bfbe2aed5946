// How long the calls of one kind took together, without a look at the clock in each.
//
// The first calls are timed. So are large calls and those that are said to be slow: a new segment, waiting
// for room, a read from the file. The others only copy a little. Of these so many are timed that the looks at
// the clock cost a few percent. A call is chosen in proportion to its expected cost, and the rest count as
// equally fast, relative to that. A sample that took very long, for example because the thread was not
// running, counts for itself alone.
//
// Threads: one at a time. The fast path is a subtraction and a branch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace pmio {

class CallTimer {
 public:
  // Whether the end of a call of so many bytes will look at the clock: then its beginning must be known.
  bool due(uint64_t bytes) const { return left_ <= cost(bytes); }

  // The current call is timed for itself: from here on, if its beginning is not known.
  void slow() {
    if (slow_) return;
    slow_ = true;
    slow_from_ns_ = monotonic_ns();
    resume_ = left_;
    spent_ += start_ - left_;
    start_ = left_ = 0;
  }

  // A call has ended. begin_ns: its beginning by monotonic_ns; may be 0 if it was not due.
  template <class Now>
  void done(uint64_t bytes, uint64_t begin_ns, Now now) {
    left_ -= cost(bytes);
    if (left_ > 0) [[likely]]
      return;
    time(cost(bytes), begin_ns, now());
  }
  void done(uint64_t bytes, uint64_t begin_ns) { done(bytes, begin_ns, monotonic_ns); }

  // The time of all calls so far: measured, and estimated for those that were not timed.
  uint64_t total_ns() const {
    const double rest = static_cast<double>(spent_ + start_ - left_) - static_cast<double>(exact_cost_);
    const double estimated = samples_ == 0 ? 0 : rest * ns_per_cost_ / static_cast<double>(samples_);
    return exact_ns_ + static_cast<uint64_t>(std::max(estimated, 0.0));
  }
  uint64_t timed_calls() const { return exact_calls_ + samples_; }

 private:
  static constexpr int64_t kBetween = 8192;  // cost from one look to the next, on average
  static constexpr int64_t kLook = 512;      // cost of a call without bytes; a look at the clock is less
  static constexpr uint64_t kFirst = 16;     // so many are timed in any case
  static constexpr uint64_t kNoSampleNs = 200'000;  // longer than any call that copies kBetween

  // A call's cost: kLook, and an eighth for each byte that it copies.
  static int64_t cost(uint64_t bytes) { return kLook + static_cast<int64_t>(bytes / 8); }

  // Between a half and one and a half of kBetween. A linear congruential generator (Knuth, MMIX).
  int64_t random_distance() {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return kBetween / 2 + static_cast<int64_t>((random_ >> 33) % kBetween);
  }

  void time(int64_t cost, uint64_t begin_ns, uint64_t end_ns) {
    const uint64_t begin = begin_ns != 0 ? begin_ns : slow_from_ns_;
    const uint64_t took = end_ns > begin ? end_ns - begin : 0;
    if (slow_ || exact_calls_ < kFirst || cost >= kBetween || took >= kNoSampleNs) {
      exact_calls_++;
      exact_ns_ += took;
      exact_cost_ += cost;
    } else {
      samples_++;
      ns_per_cost_ += static_cast<double>(took) / static_cast<double>(cost);
    }
    // A call that was due, and slow, is no sample. Then the next one is.
    const int64_t next = slow_ ? resume_ - cost : random_distance();
    spent_ += start_ - left_;
    start_ = left_ = exact_calls_ < kFirst || samples_ == 0 ? 1 : std::max<int64_t>(next, 1);
    slow_ = false;
  }

  int64_t left_ = 1;    // cost until the next look
  int64_t start_ = 1;   // left_ after the last look
  int64_t spent_ = 0;   // cost of all calls up to then
  int64_t resume_ = 0;  // left_ before the call that is slow
  uint64_t random_ = 1;
  bool slow_ = false;
  uint64_t slow_from_ns_ = 0;
  uint64_t exact_calls_ = 0, exact_ns_ = 0, samples_ = 0;
  int64_t exact_cost_ = 0;
  double ns_per_cost_ = 0;  // sum over the samples
};

}  // namespace pmio
