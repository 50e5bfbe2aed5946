// Reads a file that other nodes write too, past what this node's kernel has cached of it.
//
// If the file system runs in user space, the pages are neither looked at nor filled (O_DIRECT). To drop them
// first is not enough, as the kernel keeps those that somebody just looks at or writes. Elsewhere they are
// dropped before each read. What small reads that follow each other will want next is read along with them;
// nothing is given twice.
//
// Threads: one at a time. Errors: as of pread(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/file_buffer.h"
#include "drain/target.h"

namespace pmio {

// Reads past what is cached begin, in the file and in memory, at multiples of it.
inline constexpr uint64_t kFetchUnit = 4096;

class FreshReader {
 public:
  // target: opened for this reader alone (TargetFile::reopen_past_cache), after what it is to see was written
  // and synced.
  explicit FreshReader(std::unique_ptr<TargetFile> target);

  bool past_cache() const { return target_->past_cache(); }
  // As TargetFile::read. A node's client may take the file for shorter than it is: then it is asked again.
  Status read(uint64_t offset, void* data, uint64_t length, uint64_t* got);
  // The same of these bytes alone, which are not kept, and shorter if the client takes the file for that.
  Status fetch(uint64_t offset, void* data, uint64_t length, uint64_t* got);
  // What was read along may be old: a rank of this node has written.
  void forget_ahead() { begin_ = end_ = 0; }

 private:
  Status fetch_into_buffer(uint64_t offset, uint64_t length);

  std::unique_ptr<TargetFile> target_;
  FileBuffer buffer_;
  uint64_t begin_ = 0, end_ = 0;  // what of the file it holds
  uint64_t next_ = UINT64_MAX;    // where the last read ended
  uint64_t ahead_ = 0;            // bytes that the last fetch read ahead
};

}  // namespace pmio
