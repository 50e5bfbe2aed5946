#include "node/writes_to_sync.h"

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "drain/blocks.h"
#include "node/control.h"

namespace pmio {

constexpr size_t kMostOfAWrite = 16;      // ranges; of more their span is kept
constexpr uint64_t kMostPairs = 1 << 16;  // pairs of ranges

void WritesToSync::init() {
  mutex_.init();
  made_ns_ = monotonic_ns();
  first_ = made_ns_;
}

bool WritesToSync::add(std::span<const Vector> ranges) {
  const RobustLock lock(mutex_);
  const uint32_t count = count_.load(std::memory_order_relaxed);
  if (count + ranges.size() > kMostRanges) return false;
  std::copy(ranges.begin(), ranges.end(), ranges_ + count);
  count_.store(count + static_cast<uint32_t>(ranges.size()), std::memory_order_seq_cst);
  return true;
}

Status WritesToSync::end_write(std::span<const Vector> ranges, TargetFile& target) {
  Vector all{};
  if (ranges.size() > kMostOfAWrite) {
    all = span_of(ranges);
    ranges = {&all, 1};
  }
  Status status;
  while (status.ok() && !add(ranges)) status = sync(target);
  writing_.fetch_sub(1, std::memory_order_seq_cst);
  return status;
}

bool WritesToSync::holds(std::span<const Vector> ranges) {
  if (count_.load(std::memory_order_seq_cst) == 0) return false;
  const RobustLock lock(mutex_);
  const std::span<const Vector> written(ranges_, count_.load(std::memory_order_relaxed));
  if (written.size() * ranges.size() > kMostPairs) return true;
  return std::any_of(written.begin(), written.end(), [&](const Vector& one) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Vector& wanted) { return may_share_a_byte(one, wanted); });
  });
}

void WritesToSync::fail(const Status& status) {
  error_.store(status.system_errno() != 0 ? status.system_errno() : EIO, std::memory_order_relaxed);
}

void WritesToSync::note_loss(const Status& status) {
  if (writing() || count_.load(std::memory_order_seq_cst) != 0) fail(status);
}

Status WritesToSync::sync(TargetFile& target) {
  if (const int error = error_.load(std::memory_order_relaxed); error != 0)
    return Status::from_errno(
        error, "what was written to '" + target.path() + "' has not all reached its file system");
  uint64_t end = 0;
  {
    const RobustLock lock(mutex_);
    const uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == 0) return {};
    end = first_.load(std::memory_order_relaxed) + count;
  }
  if (Status status = target.sync_of_all(); !status.ok()) {
    fail(status);
    return status;
  }
  const RobustLock lock(mutex_);
  const uint64_t first = first_.load(std::memory_order_relaxed);
  if (end <= first) return {};  // another sync was faster
  const auto synced = static_cast<uint32_t>(end - first);
  const uint32_t count = count_.load(std::memory_order_relaxed);
  std::copy(ranges_ + synced, ranges_ + count, ranges_);
  first_.store(end, std::memory_order_seq_cst);
  count_.store(count - synced, std::memory_order_release);
  return {};
}

}  // namespace pmio
