// Writes the covered parts of a window: each by itself, or, if they are many and tiny, as data sieving does
// (Thakur, Gropp, Lusk, "Data sieving and collective I/O in ROMIO", 1999). Unlike there, holes of the file
// stay holes.
#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/copy.h"
#include "base/file_buffer.h"
#include "drain/target.h"

namespace pmio {
namespace {

constexpr uint64_t kTinyBytes = 4096;
constexpr size_t kFewIntervals = 16;
constexpr uint64_t kMostGapBytes = 64 << 10;  // to read and write more costs more than another call
constexpr uint64_t kReadBytes = 256 << 10;
constexpr size_t kFewTogether = 2;  // so many writes cost no more than a read and a write

bool many_tiny(std::span<const Interval> covered) {
  uint64_t bytes = 0;
  for (const Interval& interval : covered) bytes += interval.bytes();
  return covered.size() > kFewIntervals && bytes / covered.size() < kTinyBytes;
}

// A write lock of a range of the file. It holds against other descriptors, not against threads that use this
// one.
class RangeLock {
 public:
  RangeLock(int fd, const Interval& range) : fd_(fd), range_(range) {
    while (!(held_ = set(F_WRLCK)) && errno == EINTR) {
    }
  }
  ~RangeLock() {
    if (held_) set(F_UNLCK);
  }
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;
  bool held() const { return held_; }

 private:
  bool set(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(range_.begin);
    lock.l_len = static_cast<off_t>(range_.bytes());
    return fcntl(fd_, F_OFD_SETLKW, &lock) == 0;
  }
  int fd_;
  Interval range_;
  bool held_ = false;
};

// Where the file has blocks; the questions go from the front to the back. A file system that does not tell
// counts as one that has blocks up to the file's end.
class Holes {
 public:
  explicit Holes(int fd) : fd_(fd) {
    struct statfs facts;
    block_ = fstatfs(fd, &facts) == 0 && facts.f_bsize > 0 ? static_cast<uint64_t>(facts.f_bsize) : 0;
  }
  // Whether the gap has whole blocks, and all of them are a hole. Gaps come in ascending order.
  bool is_hole(const Interval& gap) {
    if (block_ == 0) return false;
    const Interval blocks{(gap.begin + block_ - 1) / block_ * block_, gap.end / block_ * block_};
    if (blocks.begin >= blocks.end) return false;
    if (blocks.begin >= data_.end) find_data(blocks.begin);
    return blocks.end <= data_.begin;
  }

 private:
  // The first data at or behind `from`.
  void find_data(uint64_t from) {
    const off_t begin = lseek(fd_, static_cast<off_t>(from), SEEK_DATA);
    const bool none = begin < 0 && errno == ENXIO;  // up to the end of the file, and behind it
    if (begin < 0) {
      data_ = none ? Interval{UINT64_MAX, UINT64_MAX} : Interval{0, UINT64_MAX};
      return;
    }
    // The end of data behind a gap is not needed before a gap begins in these data.
    const off_t end = static_cast<uint64_t>(begin) > from ? begin : lseek(fd_, begin, SEEK_HOLE);
    data_ = {static_cast<uint64_t>(begin), end < 0 ? UINT64_MAX : static_cast<uint64_t>(end)};
  }
  int fd_;
  uint64_t block_;
  Interval data_{0, 0};  // the next data, as far as they were asked for
};

}  // namespace

Status TargetFile::write_each(uint64_t a, const std::byte* window, std::span<const Interval> covered) {
  if (covered.size() > 1) {
    uint64_t bytes = covered.back().end - covered.front().begin;
    for (const Interval& interval : covered) bytes -= interval.bytes();
    counters_.gaps.fetch_add(covered.size() - 1, std::memory_order_relaxed);
    counters_.gap_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  for (const Interval& interval : covered)
    PMIO_TRY(write(interval.begin, window + (interval.begin - a), interval.bytes()));
  return {};
}

// Fills the gaps of the window from the file and writes all of it. Bytes beyond the end of the file read as
// zeros, like the hole that separate writes would leave.
Status TargetFile::rewrite(uint64_t a, std::byte* window, std::span<const Interval> covered) {
  const Interval range{covered.front().begin, covered.back().end};
  FileBuffer memory(std::min(kReadBytes, range.bytes()));
  counters_.rewrites.fetch_add(1, std::memory_order_relaxed);
  counters_.rewritten_bytes.fetch_add(range.bytes(), std::memory_order_relaxed);
  size_t next = 0;  // the interval behind the gap that is being filled
  uint64_t at = range.begin;
  while (at < range.end) {
    const uint64_t length = std::min(kReadBytes, range.end - at);
    std::byte* const old = memory.at(at);
    uint64_t got;
    PMIO_TRY(read(at, old, length, &got));
    std::memset(old + got, 0, length - got);
    for (uint64_t gap = at; gap < at + length;) {
      if (next < covered.size() && covered[next].begin <= gap) {
        gap = std::max(gap, covered[next].end);
        ++next;
        continue;
      }
      const uint64_t gap_end = std::min(at + length, covered[next].begin);
      copy_bytes(window + (gap - a), old + (gap - at), gap_end - gap);
      gap = gap_end;
    }
    at += length;
    // An interval that began before the end of this piece may reach over it.
    if (next > 0 && covered[next - 1].end > at) --next;
  }
  return write(range.begin, window + (range.begin - a), range.bytes());
}

Status TargetFile::sieve(uint64_t a, std::byte* window, std::span<const Interval> covered) {
  PMIO_TRY(open_to_write());  // the lock needs it
  const RangeLock lock(fd_, {covered.front().begin, covered.back().end});
  // On a file system without locks somebody else could write into a gap meanwhile, and would be overwritten.
  if (!lock.held()) return write_each(a, window, covered);
  Holes holes(fd_);
  for (size_t i = 0; i < covered.size();) {
    size_t next = i + 1;
    while (next < covered.size() && !holes.is_hole({covered[next - 1].end, covered[next].begin})) ++next;
    const auto together = covered.subspan(i, next - i);
    PMIO_TRY(together.size() <= kFewTogether ? write_each(a, window, together)
                                             : rewrite(a, window, together));
    i = next;
  }
  return {};
}

Status TargetFile::write_covered(uint64_t a, std::byte* window, std::span<const Interval> covered) {
  PMIO_ASSERT(covered.empty() || covered.front().begin >= a);
  if (access_ != Access::read_write || !many_tiny(covered)) return write_each(a, window, covered);
  for (size_t i = 0; i < covered.size();) {
    size_t next = i + 1;
    while (next < covered.size() && covered[next].begin - covered[next - 1].end <= kMostGapBytes) ++next;
    const auto group = covered.subspan(i, next - i);
    PMIO_TRY(many_tiny(group) ? sieve(a, window, group) : write_each(a, window, group));
    i = next;
  }
  return {};
}

}  // namespace pmio
