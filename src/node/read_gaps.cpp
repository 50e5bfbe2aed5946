// What no log holds of a range, from the target.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/copy.h"
#include "node/file_impl.h"

namespace pmio {
namespace {

// Gaps so near to each other are read at once, with what lies between: that costs less than a call for each.
constexpr uint64_t kNear = 4 << 10;
constexpr uint64_t kSieveBytes = 256 << 10;  // at most

// Whatever becomes of it, the rank reads the target no longer.
class ReadingOver {
 public:
  explicit ReadingOver(RankCell& cell) : reading_(cell.reading) {}
  ~ReadingOver() { reading_.store(0, std::memory_order_release); }
  ReadingOver(const ReadingOver&) = delete;
  ReadingOver& operator=(const ReadingOver&) = delete;

 private:
  std::atomic<uint64_t>& reading_;
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

// How many of the gaps from `first` on are read at once.
size_t near_gaps(const std::vector<Interval>& gaps, size_t first) {
  size_t n = 1;
  while (first + n < gaps.size() && gaps[first + n].begin - gaps[first + n - 1].end <= kNear &&
         gaps[first + n].end - gaps[first].begin <= kSieveBytes)
    ++n;
  return n;
}

}  // namespace

// Fills what `covered` leaves of [a, b); bytes beyond the target's end are zeros.
Status File::Impl::read_gaps(uint64_t a, uint64_t b, std::byte* out) {
  list_gaps(covered, a, b, &gaps);
  if (gaps.empty()) return {};
  reads.timer.slow();
  FreshReader* fresh = nullptr;
  std::optional<ReadingOver> announced;
  // A file that nobody can write is read as without pmio.
  if (neighbours != nullptr && !only_read) {
    announced.emplace(*cell);
    const auto opened = fresh_reader();
    if (!opened.ok()) return opened.status();
    fresh = opened.value();
  }
  // *end: where the bytes of the target end, if within.
  const auto fill = [&](const Interval& bytes, std::byte* to, uint64_t* end) -> Status {
    uint64_t got = 0;
    PMIO_TRY(fresh != nullptr ? fresh->read(bytes.begin, to, bytes.bytes(), &got)
                              : target->read(bytes.begin, to, bytes.bytes(), &got));
    std::memset(to + got, 0, bytes.bytes() - got);
    *end = bytes.begin + got;
    return {};
  };
  for (size_t i = 0, n = 0; i < gaps.size(); i += n) {
    n = near_gaps(gaps, i);
    const Interval all{gaps[i].begin, gaps[i + n - 1].end};
    if (n > 1 && around_gaps == nullptr)
      around_gaps = std::make_unique_for_overwrite<std::byte[]>(kSieveBytes);
    uint64_t end = 0;
    PMIO_TRY(fill(all, n == 1 ? out + (all.begin - a) : around_gaps.get(), &end));
    for (size_t k = i; k < i + n; ++k) {
      const Interval& gap = gaps[k];
      if (n > 1) copy_bytes(out + (gap.begin - a), around_gaps.get() + (gap.begin - all.begin), gap.bytes());
      reads.file_bytes += std::clamp(end, gap.begin, gap.end) - gap.begin;
    }
  }
  return {};
}

}  // namespace pmio
