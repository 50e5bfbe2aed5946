#include "node/background.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/biased_mutex.h"
#include "base/clock.h"
#include "base/idle_processor.h"
#include "base/quiet_thread.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

constexpr auto kTick = std::chrono::milliseconds(10), kQuietTick = std::chrono::milliseconds(50);
constexpr uint64_t kQuietNs = 1'000'000'000;   // nothing has been written for so long: it looks less often
constexpr uint64_t kIdleNs = 40'000'000;       // a file that nobody appends to for so long is drained
constexpr uint64_t kUnwrittenNs = 20'000'000;  // a file that is written at once needs nothing ahead
constexpr uint64_t kRetryNs = 1'000'000'000;   // after a failed drain

Background::Background(Job::Impl& job) : job_(job), thread_([this] { loop(); }) {}

Background::~Background() {
  wake_up_.stop();
  thread_.join();
}

void Background::loop() {
  bool quiet = false;
  while (wake_up_.wait_for(quiet ? kQuietTick : kTick)) {
    BiasedMutex::prepare();  // not before the first look: a job that is over by then would wait for it
    try {
      if (job_.ending.is_asked()) job_.ending.serve();
      quiet = look();
    } catch (const std::bad_alloc&) {
      // Whoever closes the file tells of it.
    }
  }
}

// How many of the files have a segment of this rank.
static uint32_t with_segment(const std::vector<std::shared_ptr<File>>& files) {
  return static_cast<uint32_t>(std::count_if(files.begin(), files.end(), [](const auto& file) {
    const RankCell& cell = *file->parts().shared.cell;
    const SegmentCell* end = cell.segments + cell.cells.load(std::memory_order_acquire);
    return std::any_of(cell.segments, end, [](const SegmentCell& segment) {
      return segment.salt.load(std::memory_order_relaxed) != 0;
    });
  }));
}

// Whether the first bytes for the log may be still to come. Of a file that is only read there are none, and
// one of large pieces does not need it.
static bool may_be_logged(const std::vector<std::shared_ptr<File>>& files) {
  return std::any_of(files.begin(), files.end(), [](const auto& file) {
    const FileParts& parts = file->parts();
    return !parts.shared.only_read.load(std::memory_order_relaxed) && !parts.large_pieces.any_written();
  });
}

// How many whole segments to have ready.
uint32_t Background::wanted_ahead(uint32_t tables, uint32_t with_segment, bool may_be_logged) {
  const SegmentPool& pool = job_.member->pool();
  if (with_segment > 0) {
    unwritten_ns_ = 0;
    // The first segment of each file may never be full.
    return pool.wanted_ahead(std::max(with_segment, tables + 1) - 1);
  }
  if (!may_be_logged) {
    unwritten_ns_ = 0;
    return 0;
  }
  const uint64_t now = monotonic_ns();
  if (unwritten_ns_ == 0) unwritten_ns_ = now;
  return now - unwritten_ns_ >= kUnwrittenNs ? pool.wanted_at_first() : 0;
}

// For files whose program pauses.
static void look_for_idle_processor(const std::vector<std::shared_ptr<File>>& files) {
  for (const auto& file : files) {
    IdleSightings& sightings = file->parts().idle_sightings;
    if (const uint64_t now = monotonic_ns(); sightings.is_due(now) && has_idle_processor())
      sightings.note_idle(now);
  }
}

// How many segments the next bursts of large pieces would find use for.
static uint32_t wanted_for_bursts(const std::vector<std::shared_ptr<File>>& files, const SegmentPool& pool) {
  uint64_t bytes = 0;
  for (const auto& file : files) bytes += file->parts().large_pieces.wanted_warm_bytes();
  return pool.wanted_for(bytes);
}

// Whether all files are quiet.
bool Background::look() {
  const bool is_lost = job_.lost_log.look_now_and_then(monotonic_ns());
  if (is_lost) job_.lost_log.give_up();
  const bool is_short = job_.member->pool().with_memory() > 0 && job_.memory_watch.is_short(monotonic_ns());
  if (is_short) job_.shrink_log();
  auto open_now = job_.files.open_files();
  if (open_now.empty()) {
    unwritten_ns_ = 0;
    return false;
  }
  const auto tables =
      static_cast<uint32_t>(std::count_if(open_now.begin(), open_now.end(), [](const auto& file) {
        return file->parts().appender.has_table_only();
      }));
  const uint32_t used_by_files = with_segment(open_now);
  const bool unwritten = may_be_logged(open_now);
  look_for_idle_processor(open_now);
  const uint32_t for_bursts = wanted_for_bursts(open_now, job_.member->pool());
  // A file that the program closes meanwhile is let go, with its descriptor, unless it is just being drained.
  const std::vector<std::weak_ptr<File>> files(open_now.begin(), open_now.end());
  open_now.clear();
  const uint32_t ahead =
      is_short || is_lost ? 0 : std::max(wanted_ahead(tables, used_by_files, unwritten), for_bursts);
  while (job_.member->pool().free() < ahead && job_.files.recycle_resting()) {
  }
  job_.member->pool().prefault(ahead, [this] { return !wake_up_.is_due() && has_idle_processor(); });
  const uint32_t used = job_.member->pool().limited_in_use(), resting = job_.files.resting_segments();
  const bool filling = is_short || is_lost || job_.member->pool().has_lacked_room() ||
                       (used - std::min(used, resting)) * 2 > job_.member->pool().limit();
  bool quiet = true;
  for (const auto& known : files) {
    const auto file = known.lock();
    if (!file) continue;
    BackgroundDrain& drain = file->parts().background_drain;
    drain.drain_if_due(filling, {kIdleNs, kRetryNs, job_.member->options().max_age_ns});
    quiet = quiet && drain.is_quiet(monotonic_ns(), kQuietNs);
  }
  if (is_short) job_.shrink_log();
  if (is_lost) job_.lost_log.give_memory_back();
  return quiet;
}

}  // namespace pmio
