/* The roll call of several nodes (roll_call.h): whether each of them is complete, told by names in the
 * launcher's own service (MPI 4.1, 11.10.4), without a call that others must make, too.
 *
 * The leader of a complete node, its lowest rank, puts up which ranks are there. The leader of rank 0 looks
 * for all, and puts up that it has found them. A leader that finds this puts up that it stays, and waits for
 * the verdict from then on. One whose patience is over before leaves. The verdict is "all" only if all stay.
 * So a name of these that is not found, for whatever reason, costs time, and at worst the log; what follows
 * from one that is found is the same for all. The verdict is put up, and waited for, without an end.
 *
 * Needs of the service: what is found has been put up. Each name is put up by one process, and again only if
 * it cannot be found: services differ in what becomes of a second value. Plain C, for the runtime libraries
 * too. Threads: one. */
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
  int ranks;       /* of the job */
  int patience_ms; /* of rank 0's leader for the others, or of another leader until all have been found */
};

#pragma GCC visibility push(hidden)

/* By a node's leader, in the time of its patience mostly. PMIO_ROLL_UNKNOWN: there is no such service. */
enum pmio_roll pmio_roll_nodes(const struct pmio_board* board, const struct pmio_node_roll* node);
/* By one process of a node that is not complete, in the place of its leader; here: the ranks that are there.
 * PMIO_ROLL_TO_SAY; PMIO_ROLL_UNKNOWN as above. */
enum pmio_roll pmio_roll_incomplete(const struct pmio_board* board, const struct pmio_node_roll* node);
/* Not 0: there is such a service. id: of this process, and no other. */
int pmio_roll_has_names(const struct pmio_board* board, const char* job, int id);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
