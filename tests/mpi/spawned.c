/* A file that is opened together with ranks that were spawned: each rank reads what the others have written,
 * whichever world they are of. Checks itself; the file that stays in DIRECTORY is the same in every run.
 * Usage: spawned DIRECTORY */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks.h"

/* As this process was started: a launcher hands its own environment on, not that of the ranks. */
static MPI_Comm spawn(const char* program) {
  static const char* const kPassed[] = {"LD_PRELOAD", "PMIO_DIR"};
  static char settings[2][4096];
  char* words[5];
  int count = 0;
  for (int i = 0; i < 2; i++) {
    if (getenv(kPassed[i]) == NULL) continue;
    snprintf(settings[i], sizeof settings[i], "%s=%s", kPassed[i], getenv(kPassed[i]));
    words[count++] = settings[i];
  }
  words[count++] = (char*)program;
  words[count++] = (char*)directory;
  words[count] = NULL;
  MPI_Comm children = MPI_COMM_NULL;
  check(MPI_Comm_spawn("env", words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE) ==
            MPI_SUCCESS,
        "spawn");
  return children;
}

static void use_together(MPI_Comm all) {
  MPI_File file;
  int place = 0, places = 0;
  MPI_Comm_rank(all, &place);
  MPI_Comm_size(all, &places);
  check(MPI_File_open(all, path_of("together"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
            MPI_SUCCESS,
        "open");
  for (int round = 0; round < 2 * places; round++) {
    write_int(file, 1 + place, 100 * round + place);
    if (place == round % places) write_int(file, 0, round);
    MPI_File_sync(file);
    MPI_Barrier(all);
    MPI_File_sync(file);
    check(read_int(file, 0) == round, "the last write");
    for (int i = 0; i < places; i++) check(read_int(file, 1 + i) == 100 * round + i, "another rank's write");
    MPI_Barrier(all);
  }
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  MPI_Comm parent, other, all;
  MPI_Comm_get_parent(&parent);
  other = parent == MPI_COMM_NULL ? spawn(argv[0]) : parent;
  MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &all);
  use_together(all);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
  return conclude();
}
