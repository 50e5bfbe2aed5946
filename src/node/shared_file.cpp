#include "node/shared_file.h"

#include <unistd.h>

#include <cerrno>

#include "log/segment.h"
#include "node/job_impl.h"

namespace pmio {

constexpr useconds_t kAttachPollMicroseconds = 50;
constexpr int kPollsPerLook = 1000;

bool SharedFile::all_drained() const {
  if (control->closing.load(std::memory_order_acquire) != 0) return false;
  for (uint32_t seat = 0; seat < control->seats; seat++) {
    const RankCell& of_rank = control->cells[seat];
    const uint64_t drained = of_rank.drained_records.load(std::memory_order_acquire);
    if (of_rank.appended.load(std::memory_order_acquire) != drained) return false;
  }
  return true;
}

bool SharedFile::own_is_drained() const {
  return cell->drained_records.load(std::memory_order_acquire) ==
         cell->appended.load(std::memory_order_acquire);
}

uint64_t SharedFile::undrained_bytes() const {
  uint64_t bytes = 0;
  for (uint32_t seat = 0; seat < control->seats; seat++) {
    const RankCell& of_rank = control->cells[seat];
    for (uint32_t c = 0; c < of_rank.cells.load(std::memory_order_acquire); c++) {
      const SegmentCell& segment = of_rank.segments[c];
      if (segment.salt.load(std::memory_order_acquire) == 0) continue;
      auto log = SegmentReader::open(job->map.map(seat, segment.slot.load(std::memory_order_relaxed)));
      if (!log.ok()) continue;
      const uint32_t end = segment.published.load(std::memory_order_acquire);
      for (uint32_t i = segment.drained.load(std::memory_order_acquire); i < end; i++)
        bytes += record_vector(log->record(i)).bytes();
    }
  }
  return bytes;
}

bool SharedFile::looks_after_it() const {
  for (uint32_t seat = 0; seat < job->member->seat(); seat++) {
    const RankCell& other = control->cells[seat];
    if (other.attached.load(std::memory_order_relaxed) != 0 && !other.died()) return false;
  }
  return true;
}

Status SharedFile::await_rank(const std::function<bool()>& done) const {
  for (int polls = 1; !done(); polls++) {
    if (polls % kPollsPerLook == 0 && drainer->some_rank_died())
      return {Code::io, "a rank that has the file open has died", EOWNERDEAD};
    usleep(kAttachPollMicroseconds);
  }
  return {};
}

void SharedFile::add_up_target() const {
  const FileNumbers done = target->take_numbers();
  count_system_calls(job->member->counters(), done);
  if (!FileStatistics::on()) return;
  FileStatistics::of_process().add(path, done);
  FileStatistics::of_process().add_servers(path, target->take_server_bytes());
}

}  // namespace pmio
