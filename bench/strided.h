/* The file that the MPI-IO benchmarks write: who owns which bytes, what is in them, and whether it is there.
 *
 * The ranks are a grid, grid_columns wide. The file is a row of arrays, one per call; each is tiled by the
 * grid, and a tile has blocks_per_call rows of block_bytes. With one grid row (the default) rank r of n owns
 * the blocks r, r + n, r + 2n... of the file. rank_bytes is a multiple of 8; so is block_bytes, but with one
 * block per call.
 *
 * An irregular one is as the blocks of a mesh that was cut into parts (E3SM's F case): each array is a row of
 * groups, in which each rank has one piece, of 8 bytes to 1 KiB, at a place that differs from group to group.
 * All arrays are alike. Errors end the job. */
#ifndef STRIDED_H
#define STRIDED_H
#include <mpi.h>
#include <stdint.h>

struct strided {
  MPI_Offset block_bytes, blocks_per_call, rank_bytes;
  int rank, ranks, grid_columns;
  MPI_Offset* pieces; /* NULL: regular. Else where a rank's piece of each group begins in a call's data, and
                         their end: blocks_per_call + 1 */
  uint64_t* data;     /* rank_bytes: this rank's, in the order of its calls */
};

void fail(const char* what);
void must(int error, const char* what);
/* Of all ranks. Collective. */
double slowest(double seconds);
/* text: KEY=VALUE. */
void add_hint(MPI_Info info, const char* text);

/* With so many groups an array, instead of blocks. */
void make_irregular(struct strided* s, MPI_Offset groups);
/* Where `owner`'s piece of the group begins in an irregular array. */
MPI_Offset piece_byte(const struct strided* s, int owner, MPI_Offset group);

MPI_Offset call_bytes(const struct strided* s);
MPI_Offset calls(const struct strided* s);
/* Of the array that one call of all ranks writes. */
MPI_Offset array_rows(const struct strided* s);
MPI_Offset row_bytes(const struct strided* s);
/* Where `owner`'s tile begins in it. */
MPI_Offset tile_row(const struct strided* s, int owner);
MPI_Offset tile_byte(const struct strided* s, int owner); /* within the row */

void make_data(const struct strided* s);
/* data are what `owner` writes. */
void check_data(const struct strided* s, int owner);
/* The file holds what all have written, from its byte `begin` on; where that is 0, nothing else. Collective.
 */
void check_file(const struct strided* s, const char* path, MPI_Offset begin);
#endif
