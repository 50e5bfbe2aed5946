/* Many small files: each is opened, written by every rank, and closed.
 *
 *   files_bench DIRECTORY FILES shared|alone|held
 *
 * shared: all ranks together, by a collective write; alone: each rank opens files of its own by
 * MPI_COMM_SELF; held: as shared, but no file is closed before all have been written. Output: one line of
 * JSON from rank 0, from before the first open to behind the last close: the seconds of the slowest rank, and
 * the processor time of all, that of their threads included. The files stay. */
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

static MPI_File written(const char* name, int together, int rank) {
  char bytes[BYTES];
  memset(bytes, 'a' + rank % 26, sizeof bytes);
  MPI_File file;
  check(MPI_File_open(together ? MPI_COMM_WORLD : MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                      MPI_INFO_NULL, &file));
  if (together)
    check(MPI_File_write_at_all(file, (MPI_Offset)rank * BYTES, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
  else
    check(MPI_File_write(file, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
  return file;
}

static void write_files(const char* directory, int files, int together, int held, int rank) {
  MPI_File* open_now = malloc((size_t)files * sizeof *open_now);
  for (int i = 0; i < files; i++) {
    char name[4096];
    if (together)
      snprintf(name, sizeof name, "%s/file-%d", directory, i);
    else
      snprintf(name, sizeof name, "%s/file-%d-%d", directory, rank, i);
    open_now[i] = written(name, together, rank);
    if (!held) check(MPI_File_close(&open_now[i]));
  }
  for (int i = 0; held && i < files; i++) check(MPI_File_close(&open_now[i]));
  free(open_now);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int files = atoi(argv[2]), held = strcmp(argv[3], "held") == 0;
  const int together = held || strcmp(argv[3], "shared") == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime(), used = processor_s();
  write_files(argv[1], files, together, held, rank);
  double mine = MPI_Wtime() - start, wall = 0, of_rank = processor_s() - used, processor = 0;
  MPI_Reduce(&mine, &wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&of_rank, &processor, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"wall_s\": %.6f, \"processor_s\": %.6f}\n", wall, processor);
  MPI_Finalize();
  return 0;
}
