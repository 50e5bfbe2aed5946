/* The vote (vote.h) of a process that no runtime library takes over. */
#ifndef PMIO_PRELOAD_NO_VOTE_H
#define PMIO_PRELOAD_NO_VOTE_H

#include "preload/takeover.h"

/* What a call of MPI_Init or MPI_Init_thread (with P before it or not) goes to: `next`, and then the vote.
 * Any other name: `next`. family: of the MPI library. find: its definition of a name. Threads: one at a time;
 * MPI_Init is called once. */
pmio_function pmio_voting(const char* name, pmio_function next, const char* family,
                          void* (*find)(const char*));

#endif
