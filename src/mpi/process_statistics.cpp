// What a process keeps and says of what it did.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "log/nodes_note.h"
#include "medium/directory.h"
#include "mpi/errors.h"
#include "mpi/handle.h"
#include "mpi/process.h"
#include "mpi/site_hints.h"
#include "mpi/summary.h"

namespace pmio {
namespace {

constexpr std::chrono::milliseconds kHistoryEvery{10};

}  // namespace

RunFacts Process::facts(Job* job) const {
  RunFacts facts = facts_;
  facts.job = spans_nodes_ ? job_of_all_nodes(id_) : id_;
  if (job != nullptr) {
    facts.log_directory = job->options().directory;
    facts.medium = medium_kind_name(job->medium().kind());
  }
  facts.start_realtime_ns = start_realtime_ns_;
  facts.wall_ns = monotonic_ns() - start_ns_;
  return facts;
}

void Process::start_statistics() {
  const LockGuard lock(mutex_);
  if (FileStatistics::on()) return;
  facts_ = run_facts(rank_, ranks_);
  FileStatistics::start();
  history_ = std::make_unique<History>(start_ns_, kHistoryEvery, [this] { return look(); });
}

HistoryNumbers Process::look() {
  Job* job = joined();
  HistoryNumbers now = job != nullptr ? job->look() : HistoryNumbers();
  const LockGuard lock(sums_mutex_);
  const FileNumbers& closed = straight_numbers_;
  now.written_bytes += closed.target_write_bytes;
  now.read_bytes += closed.target_read_bytes;
  now.file_ns += closed.target_write_ns + closed.target_read_ns;
  now.wait_ns += closed.arrival_ns + closed.wait_ns;
  now.exchange_ns += closed.exchange_ns;
  for (const Handle* handle : straight_open_) {
    handle->straight->target().counters().add_to(now);
    if (!handle->buffered) continue;
    const TwoPhaseCounters& buffering = handle->buffered->engine().counters();
    now.wait_ns += buffering.arrival_ns + buffering.wait_ns;
    now.exchange_ns += buffering.exchange_ns;
  }
  return now;
}

void Process::watch_straight(const Handle& handle) {
  const LockGuard lock(sums_mutex_);
  straight_open_.push_back(&handle);
}

Result<std::string> Process::statistics_directory(const Job* job) const {
  const SharedHints site = site_hints(false);
  if (site->stats_directory.empty()) {
    std::string logs = log_directory(*site);
    const Status open = job != nullptr ? Status() : Directory::open(logs).status();
    return open.ok() ? Result<std::string>(std::move(logs)) : open;
  }
  if (mkdir(site->stats_directory.c_str(), 0777) != 0 && errno != EEXIST)
    return Status::from_errno(errno, "pmio_stats_dir " + site->stats_directory);
  return site->stats_directory;
}

// A job that logs nothing has no log directory otherwise.
void Process::keep_statistics() {
  Job* job = joined();
  if (job == nullptr && (!FileStatistics::on() || files_.reasons().empty())) return;
  const Result<std::string> directory = statistics_directory(job);
  Status written = directory.status();
  if (written.ok()) {
    Counters all;
    if (job != nullptr) all.add(job->counters());
    {
      const LockGuard lock(sums_mutex_);
      count_system_calls(all, straight_numbers_);
    }
    written = write_statistics(directory.value(), facts(job), all, files_,
                               history_ ? history_->points() : History::Points());
  }
  if (!written.ok() && (job == nullptr || !job->has_lost_log()))
    complain_once("statistics are not kept: " + written.message());
}

void Process::note_straight(const Handle& handle, const FileNumbers& numbers) {
  if (FileStatistics::on()) {
    FileStatistics::of_process().add(handle.path, numbers);
    FileStatistics::of_process().add_servers(handle.path, handle.straight->target().take_server_bytes());
  }
  const LockGuard lock(sums_mutex_);
  std::erase(straight_open_, &handle);
  straight_.add(numbers);
  straight_numbers_.add(numbers);
}

void Process::report(int stats_level) {
  Job* job = joined();
  keep_statistics();
  if (stats_level == 0) return;
  print_summary(job != nullptr ? &job->counters() : nullptr, files_, rank_, ranks_);
  const LockGuard lock(sums_mutex_);
  print_straight(straight_, rank_, ranks_);
}

}  // namespace pmio
