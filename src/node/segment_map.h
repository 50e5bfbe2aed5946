// The local ranks' segments, mapped into this process as they are needed, and entries resolved to bytes in
// them. A segment keeps its file through all its generations, so a mapping stays good for as long as the job
// runs.
//
// Threads: any. locate() may race with a segment's reuse: it never leaves the mapping, and the caller finds
// out by looking at FileControl::floor afterwards.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "drain/paint.h"
#include "node/control.h"

namespace pmio {

// What an empty answer of SegmentMap::map is to those who need the segment.
Status cannot_map(uint32_t rank);

class SegmentMap {
 public:
  SegmentMap(Medium& medium, uint32_t ranks) : medium_(medium), ranks_(ranks) {}
  ~SegmentMap();
  // Base and size of a segment, mapped now if need be; an empty span where it cannot be.
  std::span<const std::byte> map(uint32_t rank, uint32_t slot);

 private:
  struct Rank {
    std::atomic<const Region*> regions[kMaxSlots]{};
  };
  Medium& medium_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Region>> owned_;
  std::vector<std::atomic<Rank*>> ranks_;
};

class FileEntrySource : public EntrySource {
 public:
  FileEntrySource(FileControl* control, SegmentMap* map) : control_(control), map_(map) {}
  bool locate(const Entry& entry, Located* located) override;

 private:
  FileControl* control_;
  SegmentMap* map_;
};

// The entry of a record, which lies in cell `cell` of `rank`.
Entry entry_of(const LogRecord& record, uint32_t index, uint32_t rank, uint32_t cell);

}  // namespace pmio
