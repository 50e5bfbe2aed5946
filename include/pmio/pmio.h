/* pmio's C API: for programs that want to ask more of pmio than MPI can say. A program that does not use it
 * needs no change at all. The functions are in the runtime library (libpmio-<MPI>.so). */
#ifndef PMIO_PMIO_H
#define PMIO_PMIO_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the runtime library, such as "0.1.0". */
const char* pmio_version(void);

/* Writes to the file itself what the ranks of this node had written to fh when this was called. Local: other
 * ranks need not call. Not synced to storage, MPI_File_sync does that. MPI_SUCCESS also where pmio does not
 * log fh; else the error has been through fh's error handler. */
int pmio_drain(MPI_File fh);

#ifdef __cplusplus
}
#endif

#endif
