// How a rank reads the target of a file. Perhaps its reads are better served from stretches that the ranks of
// its node read for each other (span/shared_reads.h).
//
// That is tried if small reads go forward, with gaps between them. It is given up for a while if the rank has
// to read nearly each stretch itself and uses little of it. Threads: one at a time.
#pragma once

#include <cstdint>

namespace pmio {

class ReadHabit {
 public:
  // sparse: only a part of the bytes is wanted.
  bool suits_sharing(uint64_t offset, uint64_t bytes, bool sparse);
  // After a read that was: so many stretches had to be read from the file for it.
  void shared(uint32_t fetches);
  // When the rank last went back in the file: who reads something again wants to know whether it has changed.
  uint64_t since_ns() const { return since_ns_; }

 private:
  uint64_t next_ = 0;     // where the last read ended
  uint32_t forward_ = 0;  // reads that have skipped a little, each behind the last one
  uint64_t since_ns_ = 0;
  uint32_t cost_ = 0;  // in reads that a stretch has to serve to be worth it
  uint32_t pause_ = 0, next_pause_ = 0;
};

}  // namespace pmio
