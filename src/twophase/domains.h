// File domains: which aggregator accesses which bytes of a call, and in which windows. All ranks find the
// same.
#pragma once

#include <optional>
#include <vector>

#include "drain/interval.h"
#include "twophase/two_phase.h"

namespace pmio {

// Buffers begin and end at multiples of it.
inline constexpr uint64_t kBufferUnit = 4096;

// The whole stripes in a range, as one interval; an empty one: there are none.
Interval whole_stripes_of(const Layout& layout, const Interval& range);

// A window is what an aggregator accesses at once: some bytes in one piece, at most window_bytes. At
// boundaries of stripes a window ends if it can, unless the alignment is `even`. Threads: immutable.
class Domains {
 public:
  // accessed: the parts of the file that hold all bytes of the call, sorted and disjoint.
  Domains(const TwoPhaseOptions& options, uint64_t window_bytes, std::vector<Interval> accessed);

  // The windows of one aggregator, in ascending order.
  class Walk {
   public:
    Walk(const Domains& domains, uint32_t aggregator);
    std::optional<Interval> next();

   private:
    void skip_to_own();

    const Domains* domains_;
    uint32_t aggregator_;
    uint64_t at_, end_;  // of the domain; persistent: of all that is accessed
    size_t part_ = 0;    // of what is accessed
  };
  Walk walk(uint32_t aggregator) const { return {*this, aggregator}; }

  uint32_t aggregators() const { return aggregators_; }
  uint64_t next_boundary(uint64_t offset) const { return options_->layout.next_boundary(offset); }
  // Of persistent domains.
  uint32_t owner_of(uint64_t offset) const;
  // How many of the stripes that an aggregator accesses are accessed by another one, too.
  uint64_t shared_stripes(uint32_t aggregator) const;
  // How many bytes of a range are in stripes that it holds as a whole.
  uint64_t whole_stripes(const Interval& range) const;

 private:
  uint64_t share(uint32_t aggregator) const;
  uint64_t window_end(uint32_t aggregator, uint64_t begin, uint64_t end) const;
  bool persistent() const { return options_->alignment == Alignment::persistent; }

  const TwoPhaseOptions* options_;
  uint64_t window_bytes_;
  uint32_t aggregators_;
  std::vector<Interval> accessed_;
  std::vector<uint64_t> shares_;  // where the domain of each aggregator begins, and the end
};

}  // namespace pmio
