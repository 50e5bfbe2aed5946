#include "node/file_usage.h"

#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

bool FileUsage::ever_logged() const {
  if (parts_.reach->spans_nodes()) return true;
  const FileControl& control = *parts_.shared.control;
  for (uint32_t seat = 0; seat < control.seats; seat++) {
    if (control.cells[seat].cells.load(std::memory_order_acquire) != 0) return true;
  }
  return false;
}

bool FileUsage::has_other_handles() const { return parts_.shared.job->files.has_other_handles(parts_); }

bool FileUsage::has_more_users(int processes) const {
  return parts_.shared.control->users.load(std::memory_order_relaxed) > static_cast<uint32_t>(processes);
}

bool FileUsage::was_read() const { return parts_.reader.calls().calls > 0; }

bool FileUsage::has_few_calls(uint64_t calls, uint64_t bytes, bool collective) const {
  const Appender::Calls written = parts_.appender.calls();
  if (collective && written.collective != written.calls) return false;
  const LogReader::Calls read = parts_.reader.calls();
  return written.calls + read.calls <= calls && written.bytes + read.bytes <= bytes;
}

}  // namespace pmio
