/* Many files: each is opened, written by every rank, and closed.
 *
 *   files_bench DIRECTORY FILES shared|alone|held|strided|own|some|some-small
 *
 * shared: all ranks together, by a collective write; alone: each rank opens files of its own by
 * MPI_COMM_SELF; held: as shared, but no file is closed before all have been written; strided: as shared, of
 * 64 records of 1,312 bytes through a view, dealt to the ranks in turn; own: as alone, of 2,000 records of
 * 1,312 bytes, by a call each; some: all ranks but the last one together, 2,000 records of each by a
 * collective call each, in turn; some-small: as shared, by these ranks. Output: one line of JSON from rank 0,
 * from before the first open to behind the last close: the seconds of the slowest rank, and the processor
 * time of all, that of their threads included. The files stay. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BYTES = 100, RECORD = 1312, RECORDS = 64, OWN_RECORDS = 2000 };

static double processor_s(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void check(int code) {
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_strided(MPI_File file, int rank) {
  static char bytes[RECORD * RECORDS];
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(bytes, 'a' + rank % 26, sizeof bytes);
  MPI_Datatype record, every;
  check(MPI_Type_contiguous(RECORD, MPI_BYTE, &record));
  check(MPI_Type_create_resized(record, 0, (MPI_Aint)ranks * RECORD, &every));
  check(MPI_Type_commit(&every));
  check(MPI_File_set_view(file, (MPI_Offset)rank * RECORD, MPI_BYTE, every, "native", MPI_INFO_NULL));
  check(MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  check(MPI_Type_free(&every));
  check(MPI_Type_free(&record));
}

static void write_own(MPI_File file, int rank) {
  char bytes[RECORD];
  memset(bytes, 'a' + rank % 26, sizeof bytes);
  for (int i = 0; i < OWN_RECORDS; i++)
    check(MPI_File_write_at(file, (MPI_Offset)i * RECORD, bytes, RECORD, MPI_CHAR, MPI_STATUS_IGNORE));
}

static void write_in_turn(MPI_File file, MPI_Comm comm, int rank) {
  char bytes[RECORD];
  int ranks;
  MPI_Comm_size(comm, &ranks);
  memset(bytes, 'a' + rank % 26, sizeof bytes);
  for (int i = 0; i < OWN_RECORDS; i++)
    check(MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * RECORD, bytes, RECORD, MPI_CHAR,
                                MPI_STATUS_IGNORE));
}

/* Whose files they are. */
static MPI_Comm comm_of(const char* kind, int rank) {
  if (strcmp(kind, "alone") == 0 || strcmp(kind, "own") == 0) return MPI_COMM_SELF;
  if (strncmp(kind, "some", 4) != 0) return MPI_COMM_WORLD;
  int ranks;
  MPI_Comm some;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split(MPI_COMM_WORLD, rank + 1 < ranks ? 0 : MPI_UNDEFINED, rank, &some);
  return some;
}

static MPI_File written(const char* name, const char* kind, MPI_Comm comm, int rank) {
  const int together = comm != MPI_COMM_SELF;
  char bytes[BYTES];
  memset(bytes, 'a' + rank % 26, sizeof bytes);
  MPI_File file;
  check(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  if (strcmp(kind, "strided") == 0)
    write_strided(file, rank);
  else if (strcmp(kind, "own") == 0)
    write_own(file, rank);
  else if (strcmp(kind, "some") == 0)
    write_in_turn(file, comm, rank);
  else if (together)
    check(MPI_File_write_at_all(file, (MPI_Offset)rank * BYTES, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
  else
    check(MPI_File_write(file, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
  return file;
}

static void write_files(const char* directory, int files, const char* kind, MPI_Comm comm, int rank) {
  const int together = comm != MPI_COMM_SELF, held = strcmp(kind, "held") == 0;
  MPI_File* open_now = malloc((size_t)files * sizeof *open_now);
  for (int i = 0; i < files; i++) {
    char name[4096];
    if (together)
      snprintf(name, sizeof name, "%s/file-%d", directory, i);
    else
      snprintf(name, sizeof name, "%s/file-%d-%d", directory, rank, i);
    open_now[i] = written(name, kind, comm, rank);
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
  const int files = atoi(argv[2]);
  MPI_Comm comm = comm_of(argv[3], rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime(), used = processor_s();
  if (comm != MPI_COMM_NULL) write_files(argv[1], files, argv[3], comm, rank);
  double mine = MPI_Wtime() - start, wall = 0, of_rank = processor_s() - used, processor = 0;
  MPI_Reduce(&mine, &wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&of_rank, &processor, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"wall_s\": %.6f, \"processor_s\": %.6f}\n", wall, processor);
  MPI_Finalize();
  return 0;
}
