// Copies of what a rank has logged and is in no file yet, if the log's files have lost their names. They are
// in memory without a name. The other ranks of the node open it through the process that has made it
// (/proc/<process>/fd). One such memory per process, with a place for each of its segments.
//
// Threads: LogCopies one at a time; FoundCopies any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "medium/medium.h"
#include "node/control.h"

namespace pmio {

// At its beginning.
struct CopyTable {
  struct Slot {
    std::atomic<uint64_t> records;  // the first that is not there
    uint64_t at, bytes;             // where the segment begins in this memory, and its size
    std::atomic<uint64_t> salt;     // stored last; 0: there is nothing
  };
  Slot slots[kMaxSlots];
};
constexpr size_t kCopyTableBytes = 64 << 10;  // the pages of no machine are larger
static_assert(sizeof(CopyTable) <= kCopyTableBytes);

class LogCopies {
 public:
  ~LogCopies();
  // The header and the records [from, to) of a segment, with their data. no_space: there is not enough
  // memory.
  Status add(uint32_t slot, uint64_t salt, const Region& segment, uint32_t from, uint32_t to);
  int descriptor() const { return memory_.get(); }

 private:
  Status make();
  Status write(const std::byte* from, size_t length, uint64_t at);
  FileDescriptor memory_;
  CopyTable* table_ = nullptr;
  uint64_t end_ = kCopyTableBytes;  // of the memory
};

// What another process, or this one, has made.
class FoundCopies {
 public:
  // descriptor: LogCopies::descriptor in that process.
  static Result<std::unique_ptr<FoundCopies>> open(int32_t process, int descriptor);
  ~FoundCopies();
  FoundCopies(const FoundCopies&) = delete;
  FoundCopies& operator=(const FoundCopies&) = delete;

  // Whether the records of a segment are there, up to so many.
  bool has(uint32_t slot, uint64_t salt, uint32_t records) const;
  // To be read only; where something of the slot is there.
  Result<std::unique_ptr<Region>> map(uint32_t slot) const;

 private:
  FoundCopies(FileDescriptor memory, const CopyTable* table) : memory_(std::move(memory)), table_(table) {}
  FileDescriptor memory_;
  const CopyTable* table_;
};

}  // namespace pmio
