// What --stats (PMIO_STATS=1) and MPICH_MPIIO_XSTATS=1 print of files that go straight: Cray's level 1, a
// line for each rank that has accessed some, in 80 columns.
#pragma once

#include <array>
#include <cstdint>

#include "stats/file_statistics.h"

namespace pmio {

// Of this rank's files that have been closed.
struct StraightSums {
  std::array<uint64_t, 3> writes{}, reads{};  // system calls, by size
  uint64_t file_ns = 0;                       // in them
  uint64_t exchange_ns = 0, wait_ns = 0;      // in collective buffering
  uint64_t message_bytes = 0, metadata_bytes = 0;
  uint64_t windows = 0, whole_stripes = 0;  // as an aggregator

  void add(const FileNumbers& numbers);
  bool any() const;
};

// Collective over MPI_COMM_WORLD. Rank 0 prints to stderr.
void print_straight(const StraightSums& mine, int rank, int ranks);

}  // namespace pmio
