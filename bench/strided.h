/* The file that the MPI-IO benchmarks write: who owns which bytes, what is in them, and whether it is there.
 *
 * The ranks are a grid, grid_columns wide. The file is a row of arrays, one per call; each is tiled by the
 * grid, and a tile has blocks_per_call rows of block_bytes. With one grid row (the default) rank r of n owns
 * the blocks r, r + n, r + 2n... of the file. rank_bytes is a multiple of 8; so is block_bytes, but with one
 * block per call.
 *
 * An irregular one is as the blocks of a mesh that was cut into parts (E3SM's F case): each array is a row of
 * groups, in which each rank has one piece, of 8 bytes to 1 KiB, at a place that differs from group to group.
 * All arrays are alike. With `dimensions` each array is one of up to MAX_DIMENSIONS, cut by a grid of ranks,
 * and a tile's rows are its runs in the file. Options may change who writes, where and when: see the fields.
 * Errors end the job. */
#ifndef STRIDED_H
#define STRIDED_H
#include <mpi.h>
#include <stdint.h>

#define MAX_DIMENSIONS 4

struct strided {
  MPI_Offset block_bytes, blocks_per_call;
  MPI_Offset rank_bytes; /* of a writer */
  int rank, ranks, grid_columns;
  /* Ranks with data, evenly spread; the others take part in the calls without any. */
  int writers;
  int segmented; /* a rank's calls are one behind the other in the file, not the ranks' of a call */
  /* 0: in order; else each rank's calls write their places in an order of its own. */
  MPI_Offset order_step;
  MPI_Offset mean_bytes, element_bytes; /* of irregular pieces; of arrays with dimensions, a multiple of 8 */
  int dimensions;                       /* 0: rows and columns of blocks */
  int tile[MAX_DIMENSIONS];             /* elements; the last dimension is contiguous */
  int grid[MAX_DIMENSIONS];             /* ranks */
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

/* With so many groups an array, instead of blocks. s->mean_bytes must be there. */
void make_irregular(struct strided* s, MPI_Offset groups);
/* text: elements of a tile by dimension, as 50x50x50. The ranks' grid cuts the last dimension first. */
void make_tiles(struct strided* s, const char* text);
/* Whether the rank has data. */
int writes(const struct strided* s, int owner);
/* Which of the writers it is. */
int part_of(const struct strided* s, int owner);
/* A random order. rank_bytes must be there. */
void make_order(struct strided* s);
/* Which of the file's places the call of `owner` accesses. */
MPI_Offset place_of(const struct strided* s, int owner, MPI_Offset call);
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
