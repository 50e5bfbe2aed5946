// This process as a member of its MPI job: whether pmio may log at all, and the Job once a file wants to be
// logged.
//
// Threads: start and finish from the thread that calls MPI_Init and MPI_Finalize; the rest any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "mpi/hints.h"
#include "node/job.h"

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
  Job* joined();
  // What the job was joined with, for MPI_File_get_info.
  Hints job_hints();

 private:
  void share_identity();
  void report(int stats_level);

  bool can_log_ = false;
  uint64_t id_ = 0;
  int rank_ = 0, ranks_ = 1;
  std::mutex mutex_;  // guards the rest
  std::unique_ptr<Job> job_;
  Status join_error_;
  Hints hints_;
};

// The hints of the environment; bad ones are said if say is true.
Hints site_hints(bool say);

}  // namespace pmio
