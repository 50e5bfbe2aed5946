/* The runtime library that fits an MPI library, from the list beside this library: of those whose handles are
 * laid out alike (the family), the one that was built against that very file, or the one of the nearest
 * version. Threads: any. */
#ifndef PMIO_PRELOAD_CHOOSE_H
#define PMIO_PRELOAD_CHOOSE_H

#include <limits.h>

enum { PMIO_LONGEST_WORD = 64 };

/* By a library's file name; NULL: not an MPI library that we know. */
const char* pmio_family_of(const char* path);

/* Whether the list has one; its file goes into path. list: `tag family version runtime library` per line.
 * mpi: the MPI library's file, links resolved. major: its major version, 0 where it does not tell. wanted: a
 * tag, or NULL for any. */
int pmio_choose_runtime(const char* list, const char* family, const char* mpi, int major, const char* wanted,
                        char path[PATH_MAX]);

/* The first number in a text, 0 where there is none. */
int pmio_first_number(const char* text);

#endif
