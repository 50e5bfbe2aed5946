/* MPI_File_preallocate of a file that ranks on other hosts have just written, by a handle that logs and by
 * one that is handed on: every byte stays. Without pmio, where the MPI library would lose some, the size is
 * set instead. The file stays, the same in every run. Rank 0 prints the number of hosts. Usage:
 * preallocate_hosts FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { SHARE = 300000, ROUNDS = 12 };

static int under_pmio;

static MPI_File opened(const char* path, const char* mode) {
  MPI_Info info;
  MPI_File file = MPI_FILE_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", mode);
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
        "open");
  MPI_Info_free(&info);
  return file;
}

static void make_room(MPI_File file, MPI_Offset size) {
  MPI_Offset before = 0;
  if (under_pmio) {
    check(MPI_File_preallocate(file, size) == MPI_SUCCESS, "preallocate");
    return;
  }
  MPI_File_get_size(file, &before);
  /* Hosts may see different sizes, but all ranks must set it, or none. */
  MPI_Allreduce(MPI_IN_PLACE, &before, 1, MPI_OFFSET, MPI_MAX, MPI_COMM_WORLD);
  if (before < size) check(MPI_File_set_size(file, size) == MPI_SUCCESS, "set_size");
}

/* Every other time there is room already. */
static void write_and_make_room(MPI_File file, int round) {
  const MPI_Offset base = (MPI_Offset)(round / 2) * ranks * SHARE;
  unsigned char* data = malloc(SHARE);
  for (int i = 0; i < SHARE; ++i) data[i] = (unsigned char)(i * 7 + i / 251 + rank * 31 + round * 101);
  if (round % 3 == 0)
    check(MPI_File_write_at(file, base + (MPI_Offset)rank * SHARE, data, SHARE, MPI_BYTE,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at");
  else
    check(MPI_File_write_at_all(file, base + (MPI_Offset)rank * SHARE, data, SHARE, MPI_BYTE,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at_all");
  MPI_Barrier(MPI_COMM_WORLD);
  make_room(file, base + (MPI_Offset)(round % 2 + 1) * ranks * SHARE + 1000);
  free(data);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_File file = opened(argv[1], "auto");
  under_pmio = is_logged(file);
  for (int round = 0; round < ROUNDS; ++round) write_and_make_room(file, round);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  file = opened(argv[1], "off");
  for (int round = ROUNDS; round < 2 * ROUNDS; ++round) write_and_make_room(file, round);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
