// The segments of one rank: preallocated files that go round between free, in use by a file, and free again.
// Warm ones first: a page that was touched before costs no fault.
//
// Threads: any. Nothing is shared with other processes; they map a segment by its name.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "medium/medium.h"

namespace pmio {

class SegmentPool {
 public:
  // capacity_bytes of segments at most, and kMaxSlots of them (64 GiB); created when first needed.
  SegmentPool(Medium& medium, uint32_t rank, uint64_t capacity_bytes);

  struct Segment {
    uint32_t slot;
    std::unique_ptr<Region> region;
    bool warm = false;  // all its pages have been touched
    bool busy = false;
    bool kept = false;  // busy for ever
  };

  // A free segment; no_space where all are in use or the medium is full (then the pool shrinks to what it
  // has).
  Result<Segment*> acquire();
  void release(Segment* segment);
  // The segment of a file that could not be drained: it stays on the medium, and is never free again.
  void keep(Segment* segment);
  // How often a segment has become free. Read before acquire(), it tells await_release() what acquire() has
  // seen.
  uint64_t releases() const;
  // Waits a moment for more releases than `seen`. False: none can come, for all segments that the log can
  // have are kept.
  bool await_release(uint64_t seen);
  // There is at least one segment, or the reason why none can be made. Called before anything is
  // acknowledged.
  Status require_one();
  // Keeps about `ahead` free segments created and touched, within the capacity. Called by the background
  // thread.
  void prefault(uint32_t ahead);

  size_t segment_bytes() const { return segment_bytes_; }
  uint32_t limit() const { return limit_; }
  uint32_t in_use() const;
  uint32_t free() const;
  // How many segments to have ready: none before one holds data, so that a small program touches little.
  // without_data: so many of those in use hold none.
  uint32_t wanted_ahead(uint32_t without_data) const;

  static std::string segment_name(uint32_t rank, uint32_t slot);
  // The size that suits a capacity: a 64th of it, in [kMinSegmentBytes, 64 MiB], a multiple of 64 KiB.
  static size_t choose_segment_bytes(uint64_t capacity_bytes);

 private:
  Result<Segment*> create_locked();
  void release_locked(Segment* segment);
  Medium& medium_;
  const uint32_t rank_;
  const size_t segment_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  uint64_t releases_ = 0;
  uint32_t limit_;
  std::vector<std::unique_ptr<Segment>> segments_;
};

}  // namespace pmio
