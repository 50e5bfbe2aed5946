/* Which runtime library takes this process over, and where a call goes to.
 *
 * libpmio.so is preloaded into every program of a job, also into shells and into programs that never use MPI.
 * It does nothing until the program calls one of the functions that it stands in front of (entries.c). Then
 * the MPI library that the call would have reached is looked for, and the runtime library that fits it is
 * loaded, out of everybody's sight. docs/decisions/0020-one-library-for-all.md says why. Threads: any. */
#ifndef PMIO_PRELOAD_TAKEOVER_H
#define PMIO_PRELOAD_TAKEOVER_H

/* Arguments of MPI's functions are integers and pointers, at most six, which all calling conventions of
 * 64-bit machines pass in registers: a function of this type hands them on without knowing them. */
typedef long pmio_word;
typedef pmio_word (*pmio_function)(pmio_word, pmio_word, pmio_word, pmio_word, pmio_word, pmio_word);

/* Where the program's call of a function of that name goes to: the runtime library's, or, where none takes
 * over, the one that the call would have reached without pmio. NULL: there is none. caller: an address in the
 * code that calls. */
pmio_function pmio_find(const char* name, const void* caller);

/* What the C API answers where no runtime library takes over: MPI_ERR_UNSUPPORTED_OPERATION of the MPI at
 * hand. */
int pmio_unsupported_code(void);

#endif
