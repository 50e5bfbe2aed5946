// What --stats (PMIO_STATS=1) prints at MPI_Finalize. One line always says which files were logged. If one
// was, a table follows, with a line per rank: Cray's level 1, in 80 columns.
#pragma once

#include "stats/counters.h"

namespace pmio {

// What is known of this process without a job; the caller fills in the rest.
RunFacts run_facts(int rank, int ranks);

// Collective over MPI_COMM_WORLD. Rank 0 prints to stderr. counters: null on a rank that has logged no file.
void print_summary(const Counters* counters, const FileList& files, int rank, int ranks);

}  // namespace pmio
