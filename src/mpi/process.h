// This process as a member of its MPI job: whether pmio may log at all, and the Job once a file wants to be
// logged.
//
// Threads: start and finish from the thread that calls MPI_Init and MPI_Finalize; the rest any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "mpi/hints.h"
#include "node/job.h"
#include "node/rendezvous.h"

namespace pmio {

class Process {
 public:
  static Process& instance();

  // After the library's MPI_Init; collective over MPI_COMM_WORLD.
  void start();
  // Before the library's MPI_Finalize; collective over MPI_COMM_WORLD. Writes the statistics, leaves the job.
  void finish();

  // The same on all ranks: MPI_Init was seen, all ranks share this node, and PMIO_MODE is not off.
  bool can_log() const { return can_log_; }

  // Joins at the first call, with what these hints say; later hints cannot change the job any more. Where
  // that fails, it fails for good.
  Result<Job*> job(const Hints& hints);
  // The job if it has been joined, else nullptr.
  Job* joined() { return joined_.load(std::memory_order_acquire); }
  // As joined, but joins where other ranks have begun to log: what they log is of interest to this one.
  Job* joined_or_wanted(const Hints& hints);
  // Rendezvous::files_logged; nothing where the ranks share no memory.
  std::optional<uint64_t> files_logged() const;
  // What the job was joined with, for MPI_File_get_info.
  Hints job_hints();

 private:
  void share_identity();
  Result<std::unique_ptr<Job>> join(const Hints& hints);
  void report(int stats_level);

  bool can_log_ = false;
  uint64_t id_ = 0;
  int rank_ = 0, ranks_ = 1;
  std::unique_ptr<Rendezvous> rendezvous_;  // null on all ranks where it is on one
  std::atomic<Job*> joined_{nullptr};       // job_
  std::mutex mutex_;                        // guards the rest
  std::unique_ptr<Job> job_;
  Status join_error_;
  Hints hints_;
};

// The hints of the environment; bad ones are said if say is true.
Hints site_hints(bool say);

}  // namespace pmio
