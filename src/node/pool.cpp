#include "node/pool.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "log/format.h"
#include "node/control.h"

namespace pmio {

constexpr size_t kLargestSegment = 64 << 20;
constexpr size_t kSegmentUnit = 64 << 10;
constexpr uint32_t kFewestSegments = 4;
// Each segment that the writer takes wakes the thread that touches the next.
constexpr uint32_t kAhead = 2;
constexpr auto kMoment = std::chrono::milliseconds(1);

static bool lacks_resource(const Status& status) {
  const int error = status.system_errno();
  return status.code() == Code::no_space || status.code() == Code::quota || error == EMFILE ||
         error == ENFILE || error == ENOMEM;
}

size_t SegmentPool::choose_segment_bytes(uint64_t capacity_bytes) {
  const size_t wish = capacity_bytes / 64 / kSegmentUnit * kSegmentUnit;
  return std::clamp<size_t>(wish, kMinSegmentBytes, kLargestSegment);
}

std::string SegmentPool::segment_name(uint32_t rank, uint32_t slot) {
  return "seg-" + std::to_string(rank) + "-" + std::to_string(slot);
}

SegmentPool::SegmentPool(Medium& medium, uint32_t rank, uint64_t capacity_bytes)
    : medium_(medium),
      rank_(rank),
      segment_bytes_(choose_segment_bytes(capacity_bytes)),
      limit_(static_cast<uint32_t>(
          std::clamp<uint64_t>(capacity_bytes / segment_bytes_, kFewestSegments, kMaxSlots))) {}

Result<SegmentPool::Segment*> SegmentPool::create_locked() {
  if (segments_.size() >= limit_)
    return Status(Code::no_space,
                  "all segments of the log are in use, by files that could not be written if they are "
                  "closed: 'pmio recover' can write those when the job has ended");
  auto segment = std::make_unique<Segment>();
  segment->slot = static_cast<uint32_t>(segments_.size());
  auto region = medium_.create(segment_name(rank_, segment->slot), segment_bytes_);
  if (!region.ok()) {
    // A medium that is full now bounds the log at what it has; with nothing at all the caller must be told.
    const Code code = region.status().code();
    if ((code == Code::no_space || code == Code::quota) && !segments_.empty())
      limit_ = static_cast<uint32_t>(segments_.size());
    return region.status();
  }
  segment->region = std::move(region).value();
  segments_.push_back(std::move(segment));
  return segments_.back().get();
}

Result<SegmentPool::Segment*> SegmentPool::acquire() {
  std::lock_guard lock(mutex_);
  Segment* found = nullptr;
  for (auto& segment : segments_) {
    if (!segment->busy && (found == nullptr || (segment->warm && !found->warm))) found = segment.get();
  }
  if (found == nullptr) {
    auto created = create_locked();
    if (!created.ok()) {
      const Status& reason = created.status();
      // A log that cannot grow is a full log: with what there is the writer goes on.
      if (!lacks_resource(reason) || segments_.empty()) return reason;
      return Status(Code::no_space, reason.message(), reason.system_errno());
    }
    found = *created;
  }
  found->busy = true;
  return found;
}

Status SegmentPool::require_one() {
  std::lock_guard lock(mutex_);
  if (!segments_.empty()) return {};
  auto created = create_locked();
  return created.ok() ? Status() : created.status();
}

void SegmentPool::release_locked(Segment* segment) {
  PMIO_ASSERT(segment->busy && !segment->kept);
  segment->busy = false;
  releases_++;
  released_.notify_all();
}

void SegmentPool::release(Segment* segment) {
  std::lock_guard lock(mutex_);
  release_locked(segment);
}

void SegmentPool::keep(Segment* segment) {
  std::lock_guard lock(mutex_);
  PMIO_ASSERT(segment->busy);
  segment->kept = true;
}

uint64_t SegmentPool::releases() const {
  std::lock_guard lock(mutex_);
  return releases_;
}

bool SegmentPool::await_release(uint64_t seen) {
  std::unique_lock lock(mutex_);
  const auto all_kept =
      std::all_of(segments_.begin(), segments_.end(), [](const auto& s) { return s->kept; });
  if (releases_ == seen && all_kept) return false;
  released_.wait_for(lock, kMoment, [&] { return releases_ != seen; });
  return true;
}

uint32_t SegmentPool::free() const {
  std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(
      std::count_if(segments_.begin(), segments_.end(), [](const auto& segment) { return !segment->busy; }));
}

uint32_t SegmentPool::in_use() const {
  std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(
      std::count_if(segments_.begin(), segments_.end(), [](const auto& segment) { return segment->busy; }));
}

uint32_t SegmentPool::wanted_ahead(uint32_t without_data) const {
  return in_use() > without_data ? kAhead : 0;
}

void SegmentPool::prefault(uint32_t ahead) {
  for (;;) {
    Segment* cold = nullptr;
    {
      std::lock_guard lock(mutex_);
      uint32_t ready = 0;
      for (auto& segment : segments_) {
        if (segment->busy) continue;
        if (segment->warm) {
          ready++;
        } else {
          cold = segment.get();
        }
      }
      if (ready >= ahead) return;
      if (cold == nullptr) {
        auto created = create_locked();
        if (!created.ok()) return;
        cold = *created;
      }
      // Busy while it is touched, so that the writer takes another one or makes its own.
      cold->busy = true;
    }
    Medium::prefault(*cold->region, 0, segment_bytes_);
    std::lock_guard lock(mutex_);
    cold->warm = true;
    release_locked(cold);
  }
}

}  // namespace pmio
