// The segments of one rank: preallocated files that go round between free, in use by a file, and free again.
// Warm ones first: a page that was touched before costs no fault. Where the job's memory gets short, those
// that are free give it back, and have it reserved anew before they are used.
//
// Threads: any. Nothing is shared with other processes; they map a segment by its name.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "medium/medium.h"
#include "medium/touched_pages.h"

namespace pmio {

constexpr uint32_t kMaxSegments = 256;            // of one rank in one file
constexpr uint32_t kMaxSlots = 4 * kMaxSegments;  // of one rank

class SegmentPool {
 public:
  // capacity_bytes of segments at most, and kMaxSlots of them (64 GiB); created when first needed. Little
  // ones come on top. None is larger than largest_bytes, where that is enough for one.
  SegmentPool(Medium& medium, uint32_t rank, uint64_t capacity_bytes, uint64_t largest_bytes = UINT64_MAX);

  struct Segment {
    uint32_t slot;
    std::unique_ptr<Region> region;
    TouchedPages touched;  // of what is not busy
    bool vacant = false;   // its memory has been given back
    bool busy = false;
    bool kept = false;    // busy for ever
    bool little = false;  // smaller than the others, and beside the limit
  };
  // What a segment is for. To reserve a whole one takes milliseconds, and a file may never fill it.
  enum class Need { whole, little };

  // A free segment, if possible of that kind. If there is none, little has a small one made, as long as all
  // of these together take no more than a 32nd of the capacity. no_space: all are in use, or the medium is
  // full (then the pool shrinks to what it has). Or another one would bring the job near to a limit of its
  // memory.
  Result<Segment*> acquire(Need need = Need::whole);
  void release(Segment* segment);
  // The segment of a file that could not be drained: it stays on the medium, and is never free again.
  void keep(Segment* segment);
  // How often a segment has become free. Read before acquire(), it tells await_release() what acquire() has
  // seen.
  uint64_t releases() const;
  // Waits a moment for more releases than `seen`. False: none can come, for all segments that have memory are
  // kept.
  bool await_release(uint64_t seen);
  // There is at least one segment, or the reason why none can be made. Called before anything is
  // acknowledged.
  Status require_one();
  // So many bytes find room in free segments, in order of acquire(), before one is reached whose memory
  // nobody has touched. Huge pages cost so little at their first touch that they count as touched, also those
  // that are still to come.
  uint64_t warm_bytes() const;
  // Whether the first touch of its memory costs little.
  bool is_of_huge_pages() const { return is_of_huge_pages_; }
  // Keeps about `ahead` free segments created and touched, within the capacity, for as long as goes_on() says
  // so. Called by the background thread.
  void prefault(uint32_t ahead, const std::function<bool()>& goes_on);
  // Gives the memory of free segments back, as long as more than `keep` have some that are not kept. Called
  // by the background thread.
  void give_back(uint32_t keep);
  // Those that are free have no memory from then on, and cannot get it back: their names are gone.
  void forget_free();
  // Since the last call a segment was wanted that would have brought the job near to a limit of its memory.
  bool has_lacked_room() { return lacked_room_.exchange(false, std::memory_order_relaxed); }

  size_t segment_bytes() const { return segment_bytes_; }  // but of the first and the little ones
  // Of a segment that was acquired. Waits for nobody.
  uint64_t bytes_of(uint32_t slot) const {
    return slot < kMaxSlots ? bytes_[slot].load(std::memory_order_relaxed) : 0;
  }
  uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint32_t in_use() const;
  uint32_t limited_in_use() const;  // without the little ones
  uint32_t free() const;            // that have memory
  uint32_t with_memory() const;
  // How many whole segments to have ready. There are none before one is full, so that a small program touches
  // little. without_data: so many of those in use hold none.
  uint32_t wanted_ahead(uint32_t without_data) const;
  // The same while a file is open that nothing has been written to: an eighth of the log, 64 MiB at most.
  uint32_t wanted_at_first() const;
  // The same for so many bytes that are to find warm memory: half of the log at most, since with more than
  // that in it a drain begins while the program writes. 0: none, or the first touch costs little anyway.
  uint32_t wanted_for(uint64_t bytes) const;
  // Whether the background thread has something to do for it before its next look.
  bool wants_attention() const;

  static constexpr uint32_t kFewestSegments = 4;
  static std::string segment_name(uint32_t rank, uint32_t slot);
  // The size that suits a capacity: a 64th of it, in [kMinSegmentBytes, 64 MiB], a multiple of 64 KiB.
  // Of huge pages, if there are some: whole ones, at least one, as long as the log holds several segments.
  static size_t choose_segment_bytes(uint64_t capacity_bytes, uint64_t largest_bytes = UINT64_MAX,
                                     uint64_t huge_page_bytes = 0);

 private:
  Status require_room_locked(uint64_t bytes, bool little) PMIO_REQUIRES(mutex_);
  bool may_make_little_locked() const PMIO_REQUIRES(mutex_);
  Result<Segment*> create_locked(Need need) PMIO_REQUIRES(mutex_);
  Result<Segment*> reserve_locked(Segment* segment) PMIO_REQUIRES(mutex_);
  Segment* take_cold(uint32_t ahead);
  uint32_t with_memory_locked() const PMIO_REQUIRES(mutex_);
  uint32_t limited_locked() const PMIO_REQUIRES(mutex_);  // with memory, and not little
  uint32_t usable_locked() const PMIO_REQUIRES(mutex_);   // with memory, and not kept
  bool is_whole(const Segment& segment) const { return segment.region->size_bytes() == segment_bytes_; }
  void release_locked(Segment* segment) PMIO_REQUIRES(mutex_);
  Medium& medium_;
  const uint32_t rank_;
  const size_t segment_bytes_;
  const size_t first_bytes_;  // of the first one, and of little ones
  const bool is_of_huge_pages_;
  mutable Mutex mutex_;
  Condition released_;
  std::atomic<bool> lacked_room_{false};
  uint64_t look_again_ns_ PMIO_GUARDED_BY(mutex_) = 0;  // until then there is no room
  uint64_t releases_ PMIO_GUARDED_BY(mutex_) = 0;
  const uint32_t most_;
  std::atomic<uint32_t> limit_;  // most_, or what the medium had when it was full; changed under mutex_
  uint64_t ask_medium_again_ns_ PMIO_GUARDED_BY(mutex_) = 0;  // if it was full
  const uint64_t most_little_;  // no slots are left for more than the limit, if that is the largest
  std::vector<std::unique_ptr<Segment>> segments_ PMIO_GUARDED_BY(mutex_);
  std::array<std::atomic<uint64_t>, kMaxSlots> bytes_{};  // of segments; set before they are first acquired
};

}  // namespace pmio
