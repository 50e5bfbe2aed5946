// Looks every now and then how near the job is to a limit of its memory, the oftener the nearer. Threads:
// one, the background thread.
#pragma once

#include <cstdint>

#include "medium/medium.h"

namespace pmio {

class MemoryWatch {
 public:
  explicit MemoryWatch(const Medium& medium) : medium_(medium) {}
  // Whether less is left than pmio may take: what the log holds in memory is to be given back. What was seen
  // last, where it is too early to look again.
  bool is_short(uint64_t now_ns);

 private:
  const Medium& medium_;
  uint64_t next_ns_ = 0;
  bool short_ = false;
};

}  // namespace pmio
