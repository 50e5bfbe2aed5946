// The table that PMIO_STATS=1 prints at MPI_Finalize: a line per rank, Cray's level 1.
#pragma once

#include "stats/counters.h"

namespace pmio {

// Program and MPI library of this process; the caller fills in the rest.
RunFacts run_facts(int rank, int ranks);

// Collective over MPI_COMM_WORLD; rank 0 prints to stderr.
void print_summary(const Counters& counters, int rank, int ranks);

}  // namespace pmio
