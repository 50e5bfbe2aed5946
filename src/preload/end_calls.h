/* The calls by which a program ends, or becomes another one, past the handlers of exit: a runtime library
 * that takes the process over hears of them first (mpi/ends.h). Threads: any. */
#ifndef PMIO_PRELOAD_END_CALLS_H
#define PMIO_PRELOAD_END_CALLS_H

/* library: of dlopen. One that does not know of ends is not told. */
void pmio_tell_of_ends(void* library);

#endif
