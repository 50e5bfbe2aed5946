// What the log itself could do otherwise.
#include <algorithm>
#include <cmath>

#include "advise/replay.h"
#include "advise/rules.h"
#include "base/words.h"

namespace pmio::advise {
namespace {

constexpr double kMiB = 1 << 20;

bool is_memory(const JobRecord& job) { return job.medium == "tmpfs"; }

// What is still in the log at the end has to be waited for in MPI_Finalize.
double gain_of(const Waits& now, const Waits& then) {
  const double left = std::max(0.0, then.end_seconds - now.end_seconds);
  return now.room_seconds + now.close_seconds - then.room_seconds - then.close_seconds - left;
}

// A replay tells which of two settings is better, and is itself wrong by what it tells wrongly of the run
// that there was. costs: of the change. more: what else it may gain at most. Seconds.
Estimate replayed(const JobRecord& job, const model::LogMedium& medium, const LogSettings& settings,
                  double costs, double more) {
  const Waits now = replay(job, settings_of(job), medium);
  const double seen = job.wait_seconds + job.close_seconds;
  const double error = std::abs(seen - now.room_seconds - now.close_seconds);
  const double gain = std::clamp(gain_of(now, replay(job, settings, medium)), 0.0, seen);
  return less(job, gain - error / 2 - costs, gain - costs, seen + more);
}

void larger_log(const JobRecord& job, const model::LogMedium& medium, Changes* changes) {
  if (job.wait_seconds <= 0 || job.capacity_bytes <= 0) return;
  LogSettings settings = settings_of(job);
  settings.capacity_bytes = INFINITY;
  const double most = replay(job, settings, medium).most_bytes / job.ranks_of_node();
  // Beside the bytes the log holds their records.
  const double with_records =
      1 + medium.record_bytes * job.append_records / std::max(1.0, job.appended_bytes);
  const double wanted = std::ceil(1.25 * most * with_records / kMiB) * kMiB;
  if (wanted <= job.capacity_bytes) return;
  settings.capacity_bytes = wanted * job.ranks_of_node();
  const double cold = (wanted - job.capacity_bytes) * job.ranks_of_node() *
                      (1 / medium.cold_bytes_per_second - 1 / medium.warm_bytes_per_second);
  changes->push_back({.what = "a larger log",
                      .setting = "pmio_log_size=" + size_text(wanted),
                      .because = "calls waited " + human_duration(job.wait_seconds) +
                                 " for room in a rank's log of " + bytes_text(job.capacity_bytes) +
                                 "; the program's pauses are long enough to drain more",
                      .to = replayed(job, medium, settings, cold, 0)});
}

void close_in_background(const JobRecord& job, const model::LogMedium& medium, Changes* changes) {
  if (job.closes_in_background || !job.drains_in_background || job.nodes > 1 || job.close_seconds <= 0)
    return;
  LogSettings settings = settings_of(job);
  settings.closes_in_background = true;
  changes->push_back({.what = "closes that do not wait",
                      .setting = "pmio_close=background",
                      .because = "closes waited " + human_duration(job.close_seconds) +
                                 " for the drain, and the program goes on behind them; the file is complete "
                                 "somewhat later",
                      .to = replayed(job, medium, settings, 0, 0)});
}

// The background thread also touches the log's memory ahead of the calls.
void drain_in_background(const JobRecord& job, const model::LogMedium& medium, Changes* changes) {
  if (job.drains_in_background) return;
  LogSettings settings = settings_of(job);
  settings.drains_in_background = true;
  changes->push_back({.what = "a drain beside the program",
                      .setting = "pmio_background=on",
                      .because = "the log was drained in calls and closes only, which waited " +
                                 human_duration(job.wait_seconds + job.close_seconds),
                      .to = replayed(job, medium, settings, 0, 0.4 * job.write_seconds)});
}

// The drain reads memory of huge pages faster, too, by how much is not known.
void huge_pages(const JobRecord& job, const model::LogMedium& medium, Changes* changes) {
  if (!is_memory(job) || job.has_huge_pages || job.touched_bytes <= 0) return;
  const double gain = job.touched_bytes *
                      (1 / medium.cold_bytes_per_second - 1 / (kHugeOfWarm * medium.warm_bytes_per_second));
  const double possible = 0.9 * job.write_seconds;
  const double likely = std::min(gain, 0.7 * job.write_seconds);
  if (gain <= 0) return;
  changes->push_back(
      {.what = "a log of huge pages",
       .setting = "mount its tmpfs with huge=advise (pmio doctor says how)",
       .because = "the first touch of " + bytes_text(job.touched_bytes) +
                  " of memory costs several times as much in pages of 4 KiB",
       .basis = Basis::model,
       .to = less(job, likely / 2, likely, std::min(possible, 2 * gain) + 0.2 * job.close_seconds)});
}

// Of a log's files on a disk, when they are closed: likely, and at most.
constexpr double kDiskSyncSeconds = 0.02, kMostDiskSyncSeconds = 0.06;

// What the calls would take in a log in memory, cold. The figures are built in: those that were measured here
// may be of the disk.
double memory_seconds(const JobRecord& job) {
  const model::LogMedium log;
  return job.appended_bytes * job.ranks_of_node() / log.cold_bytes_per_second +
         job.append_calls * log.call_seconds + job.append_records * log.append_record_seconds;
}

double drain_of_memory_seconds(const JobRecord& job, const model::Machine& machine) {
  const double bytes = job.appended_bytes * job.ranks_of_node();
  return file_seconds(machine.file, job.nodes, bytes, machine.file.drain_block_bytes) +
         job.append_records * job.ranks_of_node() *
             (machine.log.merge_record_seconds + machine.log.drain_record_seconds);
}

void log_in_memory(const JobRecord& job, const model::Machine& machine, Changes* changes) {
  if (job.medium != "disk") return;
  const double now = job.write_seconds + job.close_seconds;
  const Estimate then = between(memory_seconds(job) + drain_of_memory_seconds(job, machine) +
                                    machine.log.file_seconds * job.logged_opens,
                                model::kLogErrors);
  changes->push_back(
      {.what = "a log in memory",
       .setting = "pmio_dir=/dev/shm/pmio-%u",
       .because =
           "the log was on a disk: calls and closes took " + human_duration(now) +
           (job.syncs_log ? ", which also had to be synced; one in memory does not survive a power failure"
                          : "; one in memory does not survive a reboot"),
       .basis = Basis::model,
       .to = less(job, now - then.high, now - then.likely, now - then.low)});
}

void flush_when_asked(const JobRecord& job, Changes* changes) {
  if (!job.flushes_each_write) return;
  const double now = job.write_seconds, files = job.medium == "disk" ? job.logged_opens : 0;
  const Estimate then = between(memory_seconds(job), model::kLogErrors);
  changes->push_back({.what = "a log that is flushed when the program asks for it",
                      .setting = "pmio_durability=sync",
                      .because = "each write was flushed to the medium, " + count_text(job.append_calls) +
                                 " of a rank; a power failure then costs what came after the last sync or "
                                 "close",
                      .basis = Basis::model,
                      .to = less(job, now - then.high - files * kMostDiskSyncSeconds,
                                 now - then.likely - files * kDiskSyncSeconds, now - then.low)});
}

}  // namespace

void advise_log(const JobRecord& job, const model::Machine& machine, Changes* changes) {
  if (job.medium.empty()) return;
  if (job.drain_bytes > 0 && job.drain_seconds > 0) {
    larger_log(job, machine.log, changes);
    close_in_background(job, machine.log, changes);
    drain_in_background(job, machine.log, changes);
  }
  huge_pages(job, machine.log, changes);
  log_in_memory(job, machine, changes);
  flush_when_asked(job, changes);
}

}  // namespace pmio::advise
