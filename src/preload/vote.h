/* What every rank of a job says once MPI_Init has returned: whether it may log, and how.
 *
 * The ranks' words are reduced to the least of each (MPI_Allreduce, MPI_INT, MPI_MIN, MPI_COMM_WORLD), so
 * that all know the same. A rank that no runtime library takes over says no for all, as the others would wait
 * for it. Only a program without libpmio.so has no vote, or with PMIO_MODE=absent. If the roll call finds
 * out that there is one (roll_call.h), nobody votes. Plain C, for the runtime libraries too. */
#ifndef PMIO_PRELOAD_VOTE_H
#define PMIO_PRELOAD_VOTE_H

enum {
  PMIO_VOTE_MAY_LOG,         /* 0: this rank may not */
  PMIO_VOTE_ACROSS_NODES,    /* AcrossNodes; 0: not at all */
  PMIO_VOTE_SINGLE_CALLS,    /* 0: threads make calls at once */
  PMIO_VOTE_LESS_STATISTICS, /* the level of statistics, negative */
  PMIO_VOTE_TAKES_PART,      /* 0: this rank has no runtime library, and will not be there for a report */
  PMIO_VOTES
};

/* Ranks that have voted wait for those that have not. After so long they say so. */
enum { PMIO_VOTE_PATIENCE_SECONDS = 10 };
#define PMIO_VOTE_WAITS                                                                             \
  "MPI_Init has been waiting for other ranks for 10 s. If a program of this job runs without pmio " \
  "(linked statically, or on a node that lacks libpmio.so), start the whole job with PMIO_MODE=absent"

#endif
