/* Many small files: each is opened, written by every rank, and closed.
 *
 *   files_bench DIRECTORY FILES shared|alone
 *
 * shared: all ranks together, by a collective write; alone: each rank opens files of its own by
 * MPI_COMM_SELF. Output: one line of JSON from rank 0, from before the first open to behind the last close:
 * the seconds of the slowest rank, and the processor time of all, that of their threads included. The files
 * stay. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BYTES = 100 };

static double processor_s(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void check(int code) {
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void make_file(const char* name, int shared, int rank) {
  char bytes[BYTES];
  memset(bytes, 'a' + rank % 26, sizeof bytes);
  MPI_File file;
  check(MPI_File_open(shared ? MPI_COMM_WORLD : MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                      MPI_INFO_NULL, &file));
  if (shared)
    check(MPI_File_write_at_all(file, (MPI_Offset)rank * BYTES, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
  else
    check(MPI_File_write(file, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
  check(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int files = atoi(argv[2]), shared = strcmp(argv[3], "shared") == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime(), used = processor_s();
  for (int i = 0; i < files; i++) {
    char name[4096];
    if (shared)
      snprintf(name, sizeof name, "%s/file-%d", argv[1], i);
    else
      snprintf(name, sizeof name, "%s/file-%d-%d", argv[1], rank, i);
    make_file(name, shared, rank);
  }
  double mine = MPI_Wtime() - start, wall = 0, of_rank = processor_s() - used, processor = 0;
  MPI_Reduce(&mine, &wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&of_rank, &processor, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"wall_s\": %.6f, \"processor_s\": %.6f}\n", wall, processor);
  MPI_Finalize();
  return 0;
}
