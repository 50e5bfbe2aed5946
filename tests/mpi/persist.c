/* What each durability policy costs and when: counts msync calls of writes, of pmio_persist and of
 * MPI_File_sync. Preloaded: faults.c, for the counts. pmio_persist is declared weak, as docs/durability.md
 * shows it. Usage: persist FILE always|sync|none|off */
#include <mpi.h>
#include <pmio/pmio.h>
#include <stdio.h>
#include <string.h>

#pragma weak pmio_persist
long faults_count(const char* call);
#pragma weak faults_count

enum { WRITES = 10, RECORD = 4096 };
static int failures;

static void check(int ok, const char* what, long count) {
  if (ok) return;
  fprintf(stderr, "persist: %s (%ld calls)\n", what, count);
  failures++;
}

static long msyncs(void) {
  static long before;
  const long now = faults_count("msync"), since = now - before;
  before = now;
  return since;
}

static void write_records(MPI_File file, int rank) {
  static char record[RECORD];
  for (int i = 0; i < WRITES; i++)
    MPI_File_write_at(file, (MPI_Offset)(rank * WRITES + i) * RECORD, record, RECORD, MPI_BYTE,
                      MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* policy = argc == 3 ? argv[2] : "";
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (strcmp(policy, "off") == 0) {
    if (pmio_persist)
      check(pmio_persist(file) == MPI_ERR_UNSUPPORTED_OPERATION, "persist of an unknown file", 0);
    MPI_File_close(&file);
    MPI_Finalize();
    return failures != 0;
  }
  write_records(file, rank); /* the first record formats a segment */
  msyncs();
  write_records(file, rank);
  const long of_writes = msyncs();
  check((of_writes >= WRITES) == (strcmp(policy, "always") == 0) && (of_writes >= WRITES || of_writes == 0),
        "msync of writes", of_writes);
  check(pmio_persist && pmio_persist(file) == MPI_SUCCESS, "pmio_persist", 0);
  const long of_persist = msyncs();
  check((of_persist > 0) == (strcmp(policy, "sync") == 0), "msync of pmio_persist", of_persist);
  write_records(file, rank);
  const long before = msyncs();
  MPI_File_sync(file);
  const long of_sync = before + msyncs();
  check((of_sync > 0) == (strcmp(policy, "none") != 0), "msync of MPI_File_sync", of_sync);
  MPI_File_close(&file);
  const long of_close = msyncs();
  check(of_close == 0 || strcmp(policy, "none") != 0, "msync of the close", of_close);
  MPI_Finalize();
  return failures != 0;
}
