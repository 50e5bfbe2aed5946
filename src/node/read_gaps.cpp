// What no log holds of a range, from the target.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "node/job_impl.h"
#include "node/log_reader.h"

namespace pmio {
namespace {

// Gaps so near to each other are read at once, with what lies between: that costs less than a call for each.
constexpr uint64_t kNear = 4 << 10;

// Whatever becomes of it, the rank reads the target no longer.
class ReadingTarget {
 public:
  explicit ReadingTarget(Reach& reach) : reach_(reach) {}
  ~ReadingTarget() { reach_.end_reading_target(); }
  ReadingTarget(const ReadingTarget&) = delete;
  ReadingTarget& operator=(const ReadingTarget&) = delete;

 private:
  Reach& reach_;
};

void list_gaps(const std::vector<Interval>& covered, uint64_t a, uint64_t b, std::vector<Interval>* gaps) {
  gaps->clear();
  uint64_t at = a;
  for (const Interval& interval : covered) {
    append_interval(gaps, at, std::min(interval.begin, b));
    at = std::max(at, interval.end);
  }
  append_interval(gaps, at, b);
}

// How many of the gaps from `first` on are read at once, of at most so many bytes.
size_t near_gaps(const std::vector<Interval>& gaps, size_t first, uint64_t most) {
  size_t n = 1;
  while (first + n < gaps.size() && gaps[first + n].begin - gaps[first + n - 1].end <= kNear &&
         gaps[first + n].end - gaps[first].begin <= most)
    ++n;
  return n;
}

}  // namespace

// *end: where the bytes of the target end, if within.
Status LogReader::fill_gap(const Interval& bytes, std::byte* to, bool sparse, uint64_t* end) {
  uint64_t got = 0;
  PMIO_TRY(reach_.read_target(bytes.begin, to, bytes.bytes(), sparse, &got));
  std::memset(to + got, 0, bytes.bytes() - got);
  *end = bytes.begin + got;
  return {};
}

// Fills what covered_ leaves of [a, b); bytes beyond the target's end are zeros.
Status LogReader::read_gaps(uint64_t a, uint64_t b, std::byte* out) {
  list_gaps(covered_, a, b, &gaps_);
  if (gaps_.empty()) return {};
  tally_.timer.slow();
  const ReadingTarget reading(reach_);
  PMIO_TRY(reach_.begin_reading_target());
  for (size_t i = 0, n = 0; i < gaps_.size(); i += n) {
    n = near_gaps(gaps_, i, kSieveBytes);
    const Interval all{gaps_[i].begin, gaps_[i + n - 1].end};
    std::byte* const to = n == 1 ? out + (all.begin - a) : around_gaps_.at(all.begin);
    uint64_t end = 0;
    PMIO_TRY(fill_gap(all, to, n > 1 || wanted_in_part_, &end));
    for (size_t k = i; k < i + n; ++k) {
      const Interval& gap = gaps_[k];
      if (n > 1) copy_bytes(out + (gap.begin - a), to + (gap.begin - all.begin), gap.bytes());
      tally_.file_bytes += std::clamp(end, gap.begin, gap.end) - gap.begin;
    }
  }
  return {};
}

}  // namespace pmio
