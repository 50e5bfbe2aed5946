/* How a benchmark's data get to the file: by MPI-IO's own calls, or by those of a library above. All
 * functions are collective; errors end the job. */
#ifndef ACCESS_H
#define ACCESS_H
#include "strided.h"

struct access {
  const struct strided* pattern;
  MPI_Info info;
  int independent;
  struct opened* file;
};

/* To read and write. is_there: it was written by the same, and closed; else it is made. */
void access_open(struct access* access, const char* path, int is_there);
/* What follows is of `owner`'s tiles. */
void access_select(struct access* access, int owner);
/* One call: of the pattern's data those of this number, written or read. */
void access_call(struct access* access, int owner, MPI_Offset call, int writing);
/* Byte of the file where the arrays begin. */
MPI_Offset access_close(struct access* access);
#endif
