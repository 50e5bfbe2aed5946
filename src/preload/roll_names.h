/* The roll call (roll_call.h) with the names of an MPI library as its board. Plain C, for libpmio.so and the
 * runtime libraries. Threads: one, the one that calls MPI_Init. */
#ifndef PMIO_PRELOAD_ROLL_NAMES_H
#define PMIO_PRELOAD_ROLL_NAMES_H

#include "preload/roll_call.h"
#include "preload/takeover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The handles are as this family of libraries passes them; 0: it lacks them. */
struct pmio_library {
  void* (*find)(const char* name); /* its PMPI_ functions */
  pmio_word world, self, no_info;  /* MPI_COMM_WORLD, MPI_COMM_SELF, MPI_INFO_NULL */
};

#pragma GCC visibility push(hidden)

/* Once, after the library's MPI_Init. */
enum pmio_roll pmio_roll_by_names(const struct pmio_library* library);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
