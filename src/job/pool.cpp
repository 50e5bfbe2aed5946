#include "job/pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "log/format.h"

namespace pmio {

constexpr size_t kLargestSegment = 64 << 20;
constexpr size_t kFirstSegment = kMinSegmentBytes;  // to make and to free more takes longer than a small file
constexpr size_t kSegmentUnit = 64 << 10;
constexpr uint64_t kLittleShare = 32;       // of the capacity: one part of so many
constexpr uint64_t kFewestOfHugePages = 8;  // segments; a log that holds fewer of them has small pages
// Each segment that the writer takes wakes the thread that touches the next.
constexpr uint32_t kAhead = 2;
constexpr size_t kTouchedAtOnce = 1 << 20;
constexpr uint64_t kMostAtFirst = 64 << 20;
constexpr uint64_t kLookAgainNs = 20'000'000;
// A medium that is full tries hard before it says so.
constexpr uint64_t kAskMediumAgainNs = 1'000'000'000;
constexpr auto kMoment = std::chrono::milliseconds(1);

static bool lacks_resource(const Status& status) {
  const int error = status.system_errno();
  return status.code() == Code::no_space || status.code() == Code::quota || error == EMFILE ||
         error == ENFILE || error == ENOMEM;
}

template <class Which>
static uint32_t number_of(const std::vector<std::unique_ptr<SegmentPool::Segment>>& segments, Which which) {
  return static_cast<uint32_t>(
      std::count_if(segments.begin(), segments.end(), [&](const auto& segment) { return which(*segment); }));
}

size_t SegmentPool::choose_segment_bytes(uint64_t capacity_bytes, uint64_t largest_bytes,
                                         uint64_t huge_page_bytes) {
  const bool of_huge_pages = huge_page_bytes != 0 && largest_bytes >= huge_page_bytes &&
                             capacity_bytes / kFewestOfHugePages >= huge_page_bytes;
  const uint64_t unit = of_huge_pages ? huge_page_bytes : kSegmentUnit;
  const uint64_t least = of_huge_pages ? huge_page_bytes : kMinSegmentBytes;
  const uint64_t wish = std::min(capacity_bytes / 64, largest_bytes) / unit * unit;
  return std::clamp<uint64_t>(wish, least, kLargestSegment);
}

std::string SegmentPool::segment_name(uint32_t rank, uint32_t slot) {
  return "seg-" + std::to_string(rank) + "-" + std::to_string(slot);
}

SegmentPool::SegmentPool(Medium& medium, uint32_t rank, uint64_t capacity_bytes, uint64_t largest_bytes)
    : medium_(medium),
      rank_(rank),
      segment_bytes_(choose_segment_bytes(capacity_bytes, largest_bytes, medium.huge_page_bytes())),
      first_bytes_(std::min(std::max(kFirstSegment, medium.huge_page_bytes()), segment_bytes_)),
      is_of_huge_pages_(medium.huge_page_bytes() != 0 && segment_bytes_ % medium.huge_page_bytes() == 0),
      most_(static_cast<uint32_t>(
          std::clamp<uint64_t>(capacity_bytes / segment_bytes_, kFewestSegments, kMaxSlots))),
      limit_(most_),
      most_little_(first_bytes_ < segment_bytes_
                       ? std::min<uint64_t>(capacity_bytes / kLittleShare / first_bytes_, kMaxSlots - most_)
                       : 0) {}

// That there may be one more. The first one needs no more than what the medium itself leaves
// (Medium::create): it is all that a rank needs to go on.
Status SegmentPool::require_room_locked(uint64_t bytes, bool little) {
  const uint64_t now = monotonic_ns();
  if (limit_ < most_ && now >= ask_medium_again_ns_) limit_ = most_;
  if (!little && limited_locked() >= limit_)
    return Status(Code::no_space,
                  "all segments of the log are in use, by files that could not be written if they are "
                  "closed: 'pmio recover' can write those when the job has ended");
  if (usable_locked() == 0) return {};
  if (now >= look_again_ns_) {
    const std::vector<MemoryLimit> limits = medium_.limits();
    if (room_bytes(limits, Keep::all) >= bytes) return {};
    look_again_ns_ = now + kLookAgainNs;
  }
  lacked_room_.store(true, std::memory_order_relaxed);
  return {Code::no_space, "the log may not grow: too little is left of a limit on the job's memory"};
}

// The first segment of all is small, too, and within the limit: it is the smallest log.
bool SegmentPool::may_make_little_locked() const {
  return !segments_.empty() &&
         number_of(segments_, [](const Segment& each) { return each.little; }) < most_little_;
}

Result<SegmentPool::Segment*> SegmentPool::create_locked(Need need) {
  const bool little = need == Need::little && may_make_little_locked();
  const size_t bytes = segments_.empty() || little ? first_bytes_ : segment_bytes_;
  PMIO_TRY(require_room_locked(bytes, little));
  // One whose memory is just being given back counts neither as there nor as vacant.
  if (segments_.size() == kMaxSlots) return Status(Code::no_space, "the log has no names for more segments");
  auto segment = std::make_unique<Segment>();
  segment->little = little;
  segment->slot = static_cast<uint32_t>(segments_.size());
  auto region = medium_.create(segment_name(rank_, segment->slot), bytes);
  if (!region.ok()) {
    // A medium that is full bounds the log at what it has for a while; with nothing at all the caller must be
    // told.
    const Code code = region.status().code();
    if ((code == Code::no_space || code == Code::quota) && limited_locked() > 0) {
      limit_ = limited_locked();
      ask_medium_again_ns_ = monotonic_ns() + kAskMediumAgainNs;
    }
    return region.status();
  }
  segment->region = std::move(region).value();
  segment->touched = TouchedPages(bytes);
  bytes_[segment->slot].store(bytes, std::memory_order_relaxed);
  segments_.push_back(std::move(segment));
  return segments_.back().get();
}

Result<SegmentPool::Segment*> SegmentPool::reserve_locked(Segment* segment) {
  PMIO_TRY(require_room_locked(segment->region->size_bytes(), segment->little));
  PMIO_TRY(medium_.reserve(segment_name(rank_, segment->slot)));
  segment->vacant = false;
  return segment;
}

Result<SegmentPool::Segment*> SegmentPool::acquire(Need need) {
  const LockGuard lock(mutex_);
  Segment *found = nullptr, *vacant = nullptr;
  const auto fits = [need](const Segment& segment) { return segment.little == (need == Need::little); };
  const auto suits = [fits](const Segment& segment) {
    return std::pair(fits(segment), segment.touched.front());
  };
  for (auto& segment : segments_) {
    if (segment->busy) continue;
    if (segment->vacant) {
      if (vacant == nullptr || fits(*segment)) vacant = segment.get();
    } else if (found == nullptr || suits(*segment) > suits(*found)) {
      found = segment.get();
    }
  }
  if (found == nullptr) {
    const bool makes_little = need == Need::little && may_make_little_locked();
    auto made =
        vacant != nullptr && (fits(*vacant) || !makes_little) ? reserve_locked(vacant) : create_locked(need);
    if (!made.ok()) {
      const Status& reason = made.status();
      // A log that cannot grow is a full log: with what there is the writer goes on.
      if (!lacks_resource(reason) || segments_.empty()) return reason;
      return Status(Code::no_space, reason.message(), reason.system_errno());
    }
    found = *made;
  }
  found->busy = true;
  return found;
}

Status SegmentPool::require_one() {
  const LockGuard lock(mutex_);
  if (with_memory_locked() > 0) return {};
  auto created = create_locked(Need::whole);
  return created.ok() ? Status() : created.status();
}

void SegmentPool::release_locked(Segment* segment) {
  PMIO_ASSERT(segment->busy && !segment->kept);
  segment->busy = false;
  releases_++;
  released_.notify_all();
}

void SegmentPool::release(Segment* segment) {
  const LockGuard lock(mutex_);
  release_locked(segment);
}

void SegmentPool::keep(Segment* segment) {
  const LockGuard lock(mutex_);
  PMIO_ASSERT(segment->busy);
  segment->kept = true;
}

uint64_t SegmentPool::releases() const {
  const LockGuard lock(mutex_);
  return releases_;
}

bool SegmentPool::await_release(uint64_t seen) {
  UniqueLock lock(mutex_);
  const auto all_kept = std::all_of(segments_.begin(), segments_.end(),
                                    [](const auto& s) { return s->kept || (s->vacant && !s->busy); });
  if (releases_ == seen && all_kept) return false;
  released_.wait_for(lock, kMoment, [&]() PMIO_REQUIRES(mutex_) { return releases_ != seen; });
  return true;
}

uint32_t SegmentPool::free() const {
  const LockGuard lock(mutex_);
  return number_of(segments_, [](const Segment& each) { return !each.busy && !each.vacant; });
}

uint64_t SegmentPool::warm_bytes() const {
  const LockGuard lock(mutex_);
  uint64_t whole = 0, partly = 0;
  for (const auto& segment : segments_) {
    if (segment->busy || segment->vacant) continue;
    if (is_of_huge_pages_ || segment->touched.all())
      whole += segment->region->size_bytes();
    else
      partly = std::max<uint64_t>(partly, segment->touched.front());
  }
  const bool may_grow = is_of_huge_pages_ && monotonic_ns() >= look_again_ns_;
  const uint64_t more = limit() - std::min(limit(), limited_locked());
  return whole + partly + (may_grow ? more * segment_bytes_ : 0);
}

uint32_t SegmentPool::with_memory_locked() const {
  return number_of(segments_, [](const Segment& each) { return !each.vacant; });
}

uint32_t SegmentPool::limited_locked() const {
  return number_of(segments_, [](const Segment& each) { return !each.vacant && !each.little; });
}

uint32_t SegmentPool::usable_locked() const {
  return number_of(segments_, [](const Segment& each) { return !each.vacant && !each.kept; });
}

uint32_t SegmentPool::with_memory() const {
  const LockGuard lock(mutex_);
  return with_memory_locked();
}

uint32_t SegmentPool::in_use() const {
  const LockGuard lock(mutex_);
  return number_of(segments_, [](const Segment& each) { return each.busy; });
}

uint32_t SegmentPool::limited_in_use() const {
  const LockGuard lock(mutex_);
  return number_of(segments_, [](const Segment& each) { return each.busy && !each.little; });
}

uint32_t SegmentPool::wanted_ahead(uint32_t without_data) const {
  const LockGuard lock(mutex_);
  uint32_t whole = 0, little = 0;
  for (const auto& segment : segments_) {
    if (!segment->busy) continue;
    whole += is_whole(*segment) ? 1 : 0;
    little += segment->little ? 1 : 0;
  }
  return whole > without_data - std::min(without_data, little) + 1 ? kAhead : 0;
}

uint32_t SegmentPool::wanted_at_first() const {
  return static_cast<uint32_t>(std::min<uint64_t>(limit_ / 8, kMostAtFirst / segment_bytes_));
}

uint32_t SegmentPool::wanted_for(uint64_t bytes) const {
  if (bytes == 0 || is_of_huge_pages_) return 0;
  return static_cast<uint32_t>(std::min<uint64_t>(bytes / segment_bytes_ + 1, limit() / 2));
}

bool SegmentPool::wants_attention() const {
  const LockGuard lock(mutex_);
  uint32_t ready = 0, used = 0;
  for (const auto& segment : segments_) {
    if (!is_whole(*segment)) continue;
    if (segment->busy) used++;
    if (!segment->busy && segment->touched.all()) ready++;
  }
  return used > 1 && (ready < kAhead || used * 2 > limit_);
}

// The next free segment that is not touched as a whole, busy while it is touched; nothing: `ahead` are ready,
// or there can be no more.
SegmentPool::Segment* SegmentPool::take_cold(uint32_t ahead) {
  const LockGuard lock(mutex_);
  uint32_t ready = 0;
  Segment *cold = nullptr, *vacant = nullptr;
  for (auto& segment : segments_) {
    if (segment->busy || segment->little) continue;
    if (segment->vacant) {
      vacant = segment.get();
    } else if (segment->touched.all()) {
      ready += is_whole(*segment) ? 1 : 0;
    } else if (cold == nullptr || segment->touched.front() > cold->touched.front()) {
      cold = segment.get();
    }
  }
  if (ready >= ahead) return nullptr;
  if (cold == nullptr) {
    auto made = vacant != nullptr ? reserve_locked(vacant) : create_locked(Need::whole);
    if (!made.ok()) return nullptr;
    cold = *made;
  }
  cold->busy = true;
  return cold;
}

void SegmentPool::prefault(uint32_t ahead, const std::function<bool()>& goes_on) {
  while (ahead > 0 && goes_on()) {
    Segment* const cold = take_cold(ahead);
    if (cold == nullptr) return;
    // A step at a time: between two the writer may take the segment.
    cold->touched.touch_more(*cold->region, kTouchedAtOnce);
    release(cold);
  }
}

void SegmentPool::give_back(uint32_t keep) {
  for (;;) {
    Segment* gone = nullptr;
    {
      const LockGuard lock(mutex_);
      for (auto& segment : segments_)
        if (!segment->busy && !segment->vacant) gone = segment.get();
      if (gone == nullptr || usable_locked() <= keep) return;
      gone->busy = gone->vacant = true;
    }
    const bool given = medium_.vacate(segment_name(rank_, gone->slot)).ok();
    const LockGuard lock(mutex_);
    gone->vacant = given;
    if (given) gone->touched.set_none(gone->region->size_bytes());
    release_locked(gone);
    if (!given) return;
  }
}

void SegmentPool::forget_free() {
  const LockGuard lock(mutex_);
  for (auto& segment : segments_) {
    if (segment->busy || segment->vacant) continue;
    segment->vacant = true;
    segment->touched.set_none(segment->region->size_bytes());
    // Where the file system cannot do it, it is there until the end of the job.
    static_cast<void>(madvise(segment->region->data(), segment->region->size_bytes(), MADV_REMOVE));
  }
}

}  // namespace pmio
