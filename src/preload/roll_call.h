/* Whether every process of this job has pmio, found out without a message.
 *
 * The vote (vote.h) is a collective call. A process without pmio never makes it: the others would wait for
 * ever, or its own first collective call would meet theirs. So each process that has pmio counts itself,
 * before the library's MPI_Init, in memory that the processes of the node share. It is named by what the
 * launcher has told all of them. The library's MPI_Init ends when all have begun it, so that afterwards all
 * have counted themselves that ever will. Who then finds some missing closes the count. The
 * first to look says how it stood, so that all find the same.
 *
 * Of several nodes, each finds that out for itself, and tells the others by names in the launcher's service
 * (roll_nodes.h).
 *
 * Plain C, for the runtime libraries too. Threads: one, the one that calls MPI_Init. */
#ifndef PMIO_PRELOAD_ROLL_CALL_H
#define PMIO_PRELOAD_ROLL_CALL_H

#ifdef __cplusplus
extern "C" {
#endif

#define PMIO_SOME_MISSING \
  "nothing is logged, and there are no statistics: some programs of this job run without pmio"

enum pmio_roll {
  PMIO_ROLL_UNKNOWN,      /* the launcher does not tell, or has no names; or the job has one process */
  PMIO_ROLL_ALL,          /* all have pmio */
  PMIO_ROLL_SOME_MISSING, /* not all, or this process cannot find out: no vote */
  PMIO_ROLL_TO_SAY        /* the same, and this process is to say so: one of the job, or of each node */
};

enum { PMIO_BOARD_VALUE = 1025 }; /* bytes with the 0; no MPI_MAX_PORT_NAME is larger */

/* Where processes of a job put up and look up names: MPI_Publish_name and MPI_Lookup_name, mostly. Neither
 * waits for another process. Not 0: done. */
struct pmio_board {
  int (*put)(const char* name, const char* value);
  int (*get)(const char* name, char value[PMIO_BOARD_VALUE]);
};

#pragma GCC visibility push(hidden)

/* Before the library's MPI_Init. */
void pmio_roll_count(void);
/* After one that has failed. */
void pmio_roll_forget(void);
/* After it, once. The shared memory has no name any more on return. board: NULL where this process has none.
 * ranks: of MPI_COMM_WORLD; 0: not known. */
enum pmio_roll pmio_roll_call(const struct pmio_board* board, int ranks);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
