#include "node/lost_log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

constexpr uint64_t kLookEveryNs = 500'000'000;
constexpr uint64_t kReachPatienceNs = 10'000'000'000;
constexpr uint64_t kRemovalNs = 1'000'000'000;  // what the removal of a log's files may take
constexpr useconds_t kReachPollMicroseconds = 100;

LostLog::LostLog(Job::Impl& job) : job_(job) {
  if (job.member->options().loss != nullptr)
    job.member->options().loss->dirty.fetch_add(1, std::memory_order_seq_cst);
}

LostLog::~LostLog() { note_clean(); }

void LostLog::note_clean() {
  if (job_.member->options().loss != nullptr && !clean_.exchange(true, std::memory_order_seq_cst))
    job_.member->options().loss->dirty.fetch_sub(1, std::memory_order_seq_cst);
}

bool LostLog::is_known(const FileControl& control) {
  if (!is_known() && control.log_is_lost.load(std::memory_order_acquire) != 0) declare();
  return is_known();
}

bool LostLog::look() {
  if (!is_known() && job_.member->names_are_gone()) declare();
  return is_known();
}

bool LostLog::look_patiently(const FileControl& control) {
  if (look(control)) return true;
  if (!job_.map.has_missed_name()) return false;
  for (const uint64_t start = monotonic_ns(); monotonic_ns() - start < kRemovalNs;
       usleep(kReachPollMicroseconds))
    if (look(control)) return true;
  return false;
}

bool LostLog::look_now_and_then(uint64_t now_ns) {
  const SharedLoss* loss = job_.member->options().loss;
  if (!is_known() && loss != nullptr && loss->known.load(std::memory_order_acquire) != 0) declare();
  if (is_known()) return true;
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + kLookEveryNs;
  return look();
}

Status LostLog::status() const {
  return Status(Code::io, "the log directory '" + job_.member->directory() + "' was removed", ENOENT);
}

void LostLog::declare() {
  job_.member->go_past_log();
  if (known_.exchange(true, std::memory_order_seq_cst)) return;
  if (job_.member->options().loss != nullptr)
    job_.member->options().loss->known.store(1, std::memory_order_release);
  for (const auto& file : job_.files.open_files())
    file->parts().shared.control->log_is_lost.store(1, std::memory_order_release);
  if (job_.member->options().say)
    job_.member->options().say(status().message() +
                               "; what was logged is being written; the job goes on without the log");
}

// Names are not needed for it: what is mapped is memory that nobody else can use.
void LostLog::give_memory_back() {
  while (job_.files.recycle_any() || job_.files.recycle_resting()) {
  }
  job_.member->pool().forget_free();
}

void LostLog::give_up() {
  for (const auto& file : job_.files.open_files()) file->parts().appender.give_up();
  if (is_clean()) note_clean();
}

bool LostLog::is_clean() const {
  const auto files = job_.files.open_files();
  return std::all_of(files.begin(), files.end(), [](const auto& file) {
    return file->parts().appender.has_given_up() && file->reach().is_drained();
  });
}

bool LostLog::await_others() {
  if (job_.member->options().loss == nullptr) return true;
  const uint64_t start = monotonic_ns();
  for (;;) {
    static_cast<void>(job_.files.drain_all());
    give_up();
    if (job_.member->options().loss->dirty.load(std::memory_order_seq_cst) == 0) return true;
    if (waited_.load(std::memory_order_relaxed)) return false;
    if (monotonic_ns() - start > kReachPatienceNs) waited_.store(true, std::memory_order_relaxed);
    usleep(kReachPollMicroseconds);
  }
}

Status LostLog::copy(uint32_t slot, uint64_t salt, const Region& segment, uint32_t from, uint32_t to,
                     int* descriptor) {
  const LockGuard lock(mutex_);
  PMIO_TRY(copies_.add(slot, salt, segment, from, to));
  *descriptor = copies_.descriptor();
  return {};
}

// A rank that has something undrained in a segment which cannot be read here.
std::optional<uint32_t> Drainer::out_of_reach() const {
  for (uint32_t seat = 0; seat < parts_.control->seats; seat++) {
    const RankCell& of_rank = parts_.control->cells[seat];
    const int32_t copies = of_rank.copies.load(std::memory_order_acquire);
    if (copies != 0)
      parts_.map->know_copies(seat, of_rank.process.load(std::memory_order_relaxed), copies - 1);
    for (uint32_t c = 0; c < of_rank.cells.load(std::memory_order_acquire); c++) {
      const SegmentCell& cell = of_rank.segments[c];
      const uint64_t salt = cell.salt.load(std::memory_order_acquire);
      const uint32_t drained = cell.drained.load(std::memory_order_acquire);
      const uint32_t published = cell.published.load(std::memory_order_acquire);
      if (salt == 0 || drained >= published) continue;
      if (!parts_.map->reaches(seat, cell.slot.load(std::memory_order_relaxed), salt, published)) return seat;
    }
  }
  return {};
}

Status Drainer::await_reach() {
  const uint64_t start = monotonic_ns();
  for (;;) {
    parts_.lost_log->give_up();
    const std::optional<uint32_t> seat = out_of_reach();
    if (!seat) return {};
    const RankCell& cell = parts_.control->cells[*seat];
    const bool gone = cell.attached.load(std::memory_order_acquire) == 0 || cell.died();
    if (gone || monotonic_ns() - start > kReachPatienceNs)
      return Status(Code::io,
                    parts_.lost_log->status().message() + ", and rank " + std::to_string(cell.rank) +
                        (gone ? " is gone" : " is busy") + ": what it had logged is not all in '" +
                        parts_.target->path() + "'",
                    EIO);
    usleep(kReachPollMicroseconds);
  }
}

void Drainer::forget_runs() {
  const RobustLock lock(parts_.control->drain_mutex);
  const RobustLock index_lock(parts_.control->index_mutex);
  parts_.index->forget_runs_locked();
}

// Where a name was missing: without the names.
bool Drainer::is_worth_another_try(const Status& failure, bool knew) const {
  return !failure.ok() && parts_.lost_log->look_patiently(*parts_.control) && (!knew || out_of_reach());
}

}  // namespace pmio
