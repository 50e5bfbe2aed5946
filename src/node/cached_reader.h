// Reads a file that other nodes write too, through this node's page cache, as long as that is of the present.
//
// What the kernel has cached may be older than what another node has written since; what this reader has
// itself brought in since it was opened is not. The kernel reads nothing ahead, for that might come in after
// a later reader has dropped all pages; this reader does, and waits for it.
//
// Threads: one at a time. Errors: as of pread(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "drain/target.h"

namespace pmio {

class CachedReader {
 public:
  // target: opened for this reader alone, after what it is to see was written and synced. current: so is all
  // that the kernel has cached; else that is dropped.
  CachedReader(std::unique_ptr<TargetFile> target, bool current);

  // As TargetFile::read. A node's client may take the file for shorter than it is: then it asks once more.
  Status read(uint64_t offset, void* data, uint64_t length, uint64_t* got);

 private:
  Status fetch(uint64_t offset, void* data, uint64_t length, uint64_t ahead, uint64_t* got);
  struct Stretch {
    uint64_t end;
    bool brought;
  };
  Stretch stretch_at(uint64_t offset) const;
  void note_brought(uint64_t begin, uint64_t end);

  std::unique_ptr<TargetFile> target_;
  bool current_;
  std::map<uint64_t, uint64_t> brought_;  // begin to end: whole pages, no two ranges touch
  uint64_t next_ = UINT64_MAX;            // where the last read ended
  uint64_t ahead_ = 0;                    // bytes that the last fetch read ahead
  std::unique_ptr<std::byte[]> buffer_;   // kBufferBytes, of the first fetch that needs it on
};

}  // namespace pmio
