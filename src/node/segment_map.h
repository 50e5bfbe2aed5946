// The local ranks' segments, mapped into this process as they are needed, and entries resolved to bytes in
// them. A segment keeps its file through all its generations, so a mapping stays good for as long as the job
// runs.
//
// Threads: any. locate() may race with a segment's reuse: it never leaves the mapping, and the caller finds
// out by looking at FileControl::floor afterwards.
#pragma once

#include <atomic>
#include <bitset>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "drain/paint.h"
#include "node/control.h"
#include "node/log_copies.h"

namespace pmio {

class SegmentMap {
 public:
  // ranks: by seat.
  SegmentMap(Medium& medium, std::span<const uint32_t> ranks)
      : medium_(medium), names_(ranks.begin(), ranks.end()), ranks_(ranks.size()) {}
  ~SegmentMap();
  // Base and size of a segment, mapped now if need be; an empty span where it cannot be.
  std::span<const std::byte> map(uint32_t seat, uint32_t slot);
  // What an empty answer of `map` is to those who need the segment.
  Status cannot_map(uint32_t seat) const;
  // Whether that has failed because there is no such name, since this was asked last.
  bool has_missed_name() { return missed_name_.exchange(false, std::memory_order_relaxed); }

  // Where names are gone. A segment of this process, which outlives this:
  void know(uint32_t seat, uint32_t slot, const Region& own);
  // What a rank has copied is used for what has no name any more. descriptor: LogCopies::descriptor.
  void know_copies(uint32_t seat, int32_t process, int descriptor);
  // Whether the records of a segment can be read, up to so many.
  bool reaches(uint32_t seat, uint32_t slot, uint64_t salt, uint32_t records);

 private:
  struct Rank {
    std::atomic<const Region*> regions[kMaxSlots]{};
    std::unique_ptr<FoundCopies> copies;  // under mutex_, as the next
    std::bitset<kMaxSlots> copied;        // those that are mapped there
  };
  Rank& seat_locked(uint32_t seat) PMIO_REQUIRES(mutex_);
  Result<std::unique_ptr<Region>> open_locked(Rank& of_rank, uint32_t seat, uint32_t slot)
      PMIO_REQUIRES(mutex_);
  Medium& medium_;
  const std::vector<uint32_t> names_;  // ranks, by seat
  std::atomic<bool> missed_name_{false};
  Mutex mutex_;
  std::vector<std::unique_ptr<Region>> owned_ PMIO_GUARDED_BY(mutex_);
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
Entry entry_of(const LogRecord& record, uint32_t index, uint32_t seat, uint32_t cell);

}  // namespace pmio
