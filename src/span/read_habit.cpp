#include "span/read_habit.h"

#include <algorithm>

#include "base/clock.h"
#include "span/shared_reads.h"

namespace pmio {

constexpr uint64_t kSmallRead = 16 << 10;
constexpr uint64_t kMostSkipped = 4 * SharedReads::kStretchBytes;
constexpr uint32_t kForward = 4;
// A stretch takes as long as so many requests for a few bytes, about.
constexpr uint32_t kReadsOfStretch = 8;
constexpr uint32_t kMostCost = 8 * kReadsOfStretch;
constexpr uint32_t kFirstPause = 256, kLongestPause = 16384;  // reads

bool ReadHabit::suits_sharing(uint64_t offset, uint64_t bytes, bool sparse) {
  const bool forward = offset >= next_;
  const uint64_t skipped = forward ? offset - next_ : 0;
  next_ = offset + bytes;
  if (!forward) since_ns_ = monotonic_ns();
  if (!forward || skipped > kMostSkipped)
    forward_ = 0;
  else if (skipped > 0)
    forward_++;
  if (sparse && bytes >= SharedReads::kStretchBytes / 2) return true;
  if (bytes > kSmallRead || forward_ < kForward) return false;
  if (pause_ > 0) {
    pause_--;
    return false;
  }
  return true;
}

void ReadHabit::shared(uint32_t fetches) {
  cost_ += fetches * kReadsOfStretch;
  cost_ -= std::min(cost_, 1U);
  if (cost_ < kMostCost) return;
  cost_ = kMostCost / 2;
  next_pause_ = std::clamp(4 * next_pause_, kFirstPause, kLongestPause);
  pause_ = next_pause_;
}

}  // namespace pmio
