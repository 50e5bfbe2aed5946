/* pmio's C API, for programs that want to ask more of pmio than MPI can say. A program that does not use it
 * needs no change at all. The functions are in the runtime library (libpmio-<MPI>.so), which `pmio run`
 * preloads. A program that must run without pmio, too, declares them weak and checks them before the call:
 *
 *   #include <pmio/pmio.h>
 *   #pragma weak pmio_persist
 *   if (!pmio_persist || pmio_persist(fh) != MPI_SUCCESS) MPI_File_sync(fh);
 */
#ifndef PMIO_PMIO_H
#define PMIO_PMIO_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the runtime library, such as "0.1.0". */
const char* pmio_version(void);

/* Writes to the file itself what the ranks of this node had written to fh when this was called. It is local:
 * other ranks need not call. It does not sync to storage; MPI_File_sync does that. It returns MPI_SUCCESS,
 * too, if pmio does not log fh. Any error has been through fh's error handler. */
int pmio_drain(MPI_File fh);

/* Makes what this rank has written through fh as durable as MPI_File_sync would, without writing the file. On
 * return the bytes survive what the log's medium survives (docs/durability.md). On a disk medium with
 * pmio_durability=sync it is this call that makes them survive a power failure. With always they survive it
 * already; with none, and in tmpfs, they never do. If pmio hands the calls on fh on, the file itself is
 * synced. It is local: other ranks need not call, and nobody is waited for. MPI_ERR_UNSUPPORTED_OPERATION:
 * pmio knows nothing of fh, as in a job that it stays out of; call MPI_File_sync. Any other error has been
 * through fh's error handler. */
int pmio_persist(MPI_File fh);

/* What this rank has spent so far in collective buffering of fh (pmio_mode=twophase), in nanoseconds:
 *   ns[0]  until all ranks had come to a call and had told each other what they access
 *   ns[1]  copying this rank's own bytes in memory that the node's ranks share
 *   ns[2]  packing and sending messages to other nodes, and taking theirs
 *   ns[3]  waiting for other ranks, beside ns[0]
 *   ns[4]  writing and reading the file
 * It is local. MPI_ERR_UNSUPPORTED_OPERATION: pmio does not buffer fh collectively. */
int pmio_collective_times(MPI_File fh, uint64_t ns[5]);

#ifdef __cplusplus
}
#endif

#endif
