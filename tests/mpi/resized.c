/* A file is cut by one rank while another one goes on writing to it, each by a handle of its own, which logs
 * or does not: the size is then that of the cut file, or the end of what was written meanwhile, and it is
 * what the file is in the end. Checks itself. Usage: resized DIRECTORY */
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>

#include "checks.h"

enum { ROUNDS = 40, CUTTER = 0, WRITER = 1, KEPT = 12, FAR = 250, BETWEEN = 100 };

static MPI_File file;

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static int size_in_ints(void) {
  MPI_Offset size = -1;
  check(MPI_File_get_size(file, &size) == MPI_SUCCESS, "get_size");
  return (int)(size / 4);
}

/* What a program that knows no MPI finds. */
static int size_found(void) {
  struct stat facts;
  return stat(path_of("target"), &facts) == 0 ? (int)(facts.st_size / 4) : -1;
}

/* Ranks that have nothing to do with it are not there: two are enough. other: where the writer writes, beside
 * the first ints, while the file is cut. */
static void cut_while_written(int other) {
  if (rank == WRITER) write_int(file, FAR, 1);
  meet();
  if (rank == CUTTER) {
    check(MPI_File_set_size(file, 4 * KEPT) == MPI_SUCCESS, "set_size");
    MPI_Send(NULL, 0, MPI_BYTE, WRITER, 0, MPI_COMM_WORLD);
  } else if (rank == WRITER) {
    MPI_Request told;
    int done = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, CUTTER, 0, MPI_COMM_WORLD, &told);
    for (int i = 0; !done; i++) {
      write_int(file, i % 16 == 0 ? other : i % KEPT, 2);
      MPI_Test(&told, &done, MPI_STATUS_IGNORE);
    }
  }
  meet();
}

static void nothing_comes_back(void) {
  cut_while_written(0);
  check(size_in_ints() == KEPT, "the size after a cut");
  check(read_int(file, KEPT) == -1, "a read behind the end");
  MPI_Offset position = -1;
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &position);
  check(position == 4 * KEPT, "the position of the end");
  meet();
  int value = 3;
  if (rank == WRITER) MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  meet();
  check(size_in_ints() == KEPT + 1, "the size after an append");
  check(read_int(file, KEPT) == 3, "what was appended");
  meet();
}

static void what_was_written_meanwhile_counts_or_not(void) {
  cut_while_written(BETWEEN);
  const int size = size_in_ints();
  check(size == KEPT || size == BETWEEN + 1, "the size where more is written meanwhile");
  meet();
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  meet();
  check(size_in_ints() == size && size_found() == size, "the size after a sync");
  meet();
}

static void all(MPI_Info info) {
  check(MPI_File_open(MPI_COMM_SELF, path_of("target"), MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) ==
            MPI_SUCCESS,
        "open");
  meet();
  for (int round = 0; round < ROUNDS; round++) {
    what_was_written_meanwhile_counts_or_not();
    nothing_comes_back();
  }
  for (int i = 0; i < KEPT && rank == WRITER; i++) write_int(file, i, 4);
  MPI_File_close(&file);
  meet();
  check(size_found() == KEPT + 1, "the size after the close");
  meet();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 2 || ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  MPI_Info info;
  MPI_Info_create(&info);
  all(info);
  if (rank == CUTTER) MPI_Info_set(info, "pmio_mode", "off");
  all(info);
  MPI_Info_free(&info);
  return conclude();
}
