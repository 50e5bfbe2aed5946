/* The roll call of several nodes (roll_call.h): whether each of them is complete, told by names in the
 * launcher's own service (MPI 4.1, 11.10.4), without a call that others must make, too.
 *
 * The leader of a complete node, its lowest rank, puts up which ranks are there. The leader of rank 0 looks
 * for all. It puts up that it has found them, then looks for leaders that have left, and puts up the verdict.
 * A leader whose patience is over puts up that it leaves, and only then looks whether all had been found. So
 * at least one of the two sees the other: who has left is never counted on, and a verdict for all is waited
 * for. "Missing" may be put up by anybody, as then no other verdict is possible any more.
 *
 * Needs of the service: who asks after somebody has put something up finds it. It need not refuse a name that
 * is there: Open MPI's and Intel MPI's do not. Plain C, for the runtime libraries too. Threads: one. */
#ifndef PMIO_PRELOAD_ROLL_NODES_H
#define PMIO_PRELOAD_ROLL_NODES_H

#include "preload/roll_call.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pmio_node_roll {
  const char* job; /* the same in all its processes, and in no other job of this launcher */
  const int* here; /* this node's ranks in MPI_COMM_WORLD, ascending */
  int ranks_here;
  int ranks;         /* of the job */
  int collecting_ms; /* after so long without all, rank 0's leader says that some are missing */
  int patience_ms;   /* after so long without a verdict, another leader leaves */
};

#pragma GCC visibility push(hidden)

/* By a node's leader, in the time of its patience mostly. PMIO_ROLL_UNKNOWN: there is no such service. */
enum pmio_roll pmio_roll_nodes(const struct pmio_board* board, const struct pmio_node_roll* node);
/* By a process of a node that is not complete. */
void pmio_roll_tell_missing(const struct pmio_board* board, const char* job);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
