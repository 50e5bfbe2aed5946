// Whether the program computes between its large writes for so long that what it has written would be drained
// meanwhile, by a processor that has nothing else to do. Then a large piece costs it less in a warm log than
// in the file's page cache (decision 0040).
//
// A burst is what is written without a pause of kPauseNs. A pause is a good one if
//   - a processor was seen idle in it;
//   - what was written before it is drained at its end, or would be: kDrainStartNs and its bytes by
//     kDrainBytesPerSecond are no more than the pause;
//   - nobody waited for a drain in it, as MPI_File_sync does.
// After kGoodPauses of these in a row drains are hidden, and until the next one that is none.
//
// Threads: begin and end by whoever holds the append lock; the rest by any.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/idle_sightings.h"

namespace pmio {

class Pauses {
 public:
  static constexpr uint64_t kPauseNs = IdleSightings::kPauseNs;
  static constexpr uint64_t kDrainStartNs = 50'000'000;  // the background waits for 40 ms, in steps of 10
  static constexpr uint64_t kDrainBytesPerSecond = 500'000'000;
  static constexpr uint32_t kGoodPauses = 3;

  explicit Pauses(IdleSightings& idle) : idle_(idle) {}

  // A large piece of so many bytes comes. drained: nothing that was logged before it is undrained.
  void begin(uint64_t bytes, uint64_t now_ns, bool drained);
  // It has been written.
  void end(uint64_t now_ns) {
    last_ns_.store(now_ns, std::memory_order_relaxed);
    idle_.note_write(now_ns);
  }
  // The program waits for a drain.
  void spoil() { spoilt_.store(true, std::memory_order_relaxed); }

  bool hide_drains() const { return good_.load(std::memory_order_relaxed) >= kGoodPauses; }
  // So much of the log is to be warm before the next burst: what the last one has taken; 0 unless the next
  // burst will be logged if this pause is a good one, too.
  uint64_t wanted_warm_bytes() const;

 private:
  bool is_good(uint64_t now_ns, bool drained) const;

  IdleSightings& idle_;
  std::atomic<uint64_t> last_ns_{0};  // a large piece was written; 0: none yet
  std::atomic<uint64_t> burst_bytes_{0};
  std::atomic<uint32_t> good_{0};  // pauses in a row
  std::atomic<bool> spoilt_{false};
};

}  // namespace pmio
