/* What `pmio run` and the preloaded library leave for each other in the environment, and which process of a
 * job speaks for all. Plain C, for both. Threads: any. */
#ifndef PMIO_PRELOAD_NAMES_H
#define PMIO_PRELOAD_NAMES_H

#include <stdlib.h>
#include <string.h>

/* The pmio command's file: set by `pmio run`. Who is started so is told why there is no log; a library that a
 * site preloads for everybody says nothing of that. */
#define PMIO_ENV_COMMAND "PMIO_RUN_COMMAND"
/* The tag of the runtime library to take, such as mpich-4.0.2, instead of finding it out. */
#define PMIO_ENV_RUNTIME "PMIO_RUNTIME"

/* The variables by which launchers tell a process its number in the job: MPICH and Slurm by PMI, Slurm and
 * PRRTE by PMIx, Open MPI, MVAPICH, srun itself, aprun, jsrun, Flux, Cray's PALS. */
#define PMIO_RANK_VARIABLES                                                                                \
  {                                                                                                        \
    "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "ALPS_APP_PE", \
        "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "PALS_RANKID"                                              \
  }

/* Not 0: this is the first process of its job, or no launcher says which one it is. */
static inline int pmio_is_first_rank(void) {
  static const char* const known[] = PMIO_RANK_VARIABLES;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const char* rank = getenv(known[i]);
    if (rank && strcmp(rank, "0") != 0) return 0;
  }
  return 1;
}

/* Not 0: a launcher says that this process has that number in its job. */
static inline int pmio_has_rank(const char* number) {
  static const char* const known[] = PMIO_RANK_VARIABLES;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const char* rank = getenv(known[i]);
    if (rank && strcmp(rank, number) == 0) return 1;
  }
  return 0;
}

#endif
