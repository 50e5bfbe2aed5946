/* Collective and independent reads of a file that goes straight, on any number of hosts: they see what any
 * other rank has written before a barrier, whatever the reading host's client of the file system has read
 * before, or read ahead; and the size that was set. The file stays, the same in every run. Rank 0 prints the
 * number of hosts. Usage: straight_hosts FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum {
  RECORD = 1312,
  RECORDS = 5000,
  SHARE = RECORD * RECORDS,
  FIRST = SHARE / 2,
  NEWER = 1 << 20,
  ROUNDS = 4
};

static const char* const kModes[] = {"twophase", "independent"};
static unsigned char *mine, *newer;

static unsigned char byte_at(long long offset, int version) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 101);
}

/* The ranks' records take turns. */
static MPI_File opened(const char* path, const char* mode, int* obeys) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Datatype records;
  char found[16] = "";
  int is_there = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", mode);
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "cb_nodes", "1"); /* rank 0 reads on and on: MooseFS reads ahead behind 10 MiB */
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
        "open");
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "pmio_mode", sizeof found - 1, found, &is_there);
  MPI_Info_free(&info);
  *obeys = is_there && strcmp(found, mode) == 0;
  const char* preloaded = getenv("LD_PRELOAD");
  const int under_pmio =
      preloaded != NULL && (strstr(preloaded, "libpmio.so") || strstr(preloaded, "libpmio-"));
  check(*obeys || !under_pmio, "MPI_File_get_info tells the mode");
  MPI_Type_vector(RECORDS, RECORD, RECORD * ranks, MPI_BYTE, &records);
  MPI_Type_commit(&records);
  MPI_File_set_view(file, (MPI_Offset)rank * RECORD, MPI_BYTE, records, "native", MPI_INFO_NULL);
  MPI_Type_free(&records);
  return file;
}

static long long place_of(int i) { return (long long)(i / RECORD * ranks + rank) * RECORD + i % RECORD; }

/* The bytes of the file that were written last, and those before. */
static int version_at(long long offset, int round) {
  const long long begin = (long long)FIRST * ranks;
  return 2 * round + (offset >= begin && offset < begin + NEWER);
}

static void read_part(MPI_File file, int together, int from, int bytes) {
  memset(mine + from, 0, (size_t)bytes);
  const int code = together
                       ? MPI_File_read_at_all(file, from, mine + from, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                       : MPI_File_read_at(file, from, mine + from, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  check(code == MPI_SUCCESS, together ? "read_at_all" : "read_at");
}

/* The first part is read before another host's rank writes behind it, so that the client has read ahead. */
static void write_behind(MPI_File file, MPI_File alone, int round, int obeys) {
  const int together = round % 2 == 0;
  for (int i = 0; i < SHARE; i++) mine[i] = byte_at(place_of(i), 2 * round);
  check(MPI_File_write_at_all(file, 0, mine, SHARE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
  MPI_Barrier(MPI_COMM_WORLD);
  read_part(file, together, 0, FIRST);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) {
    const long long begin = (long long)FIRST * ranks;
    for (int i = 0; i < NEWER; i++) newer[i] = byte_at(begin + i, 2 * round + 1);
    check(MPI_File_write_at(alone, begin, newer, NEWER, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  read_part(file, together, FIRST, SHARE - FIRST);
  int same = 1;
  for (int i = 0; i < SHARE; i++)
    same = same && mine[i] == byte_at(place_of(i), version_at(place_of(i), round));
  check(same || !obeys, together ? "read together" : "read alone");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Every rank learns of the end, also one whose host has written behind it. */
static void cut(MPI_File file, int obeys) {
  const MPI_Offset end = (MPI_Offset)SHARE / 4 * ranks;
  MPI_Offset size = -1;
  check(MPI_File_set_size(file, end) == MPI_SUCCESS, "set_size");
  check(MPI_File_get_size(file, &size) == MPI_SUCCESS && (size == end || !obeys), "the size that was set");
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File opened_alone(const char* path, const char* mode) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", mode);
  if (rank == ranks - 1)
    check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "open alone");
  MPI_Info_free(&info);
  return file;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  mine = malloc(SHARE);
  newer = malloc(NEWER);
  for (int i = 0; i < 2; i++) {
    int obeys = 0;
    MPI_File file = opened(argv[1], kModes[i], &obeys), alone = opened_alone(argv[1], kModes[i]);
    for (int round = 0; round < ROUNDS; round++) write_behind(file, alone, round, obeys);
    cut(file, obeys);
    if (rank == ranks - 1) check(MPI_File_close(&alone) == MPI_SUCCESS, "close alone");
    check(MPI_File_close(&file) == MPI_SUCCESS, "close");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(mine);
  free(newer);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
