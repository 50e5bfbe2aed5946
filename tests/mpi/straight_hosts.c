/* Collective and independent reads of a file that goes straight, on any number of hosts: they see what any
 * other rank has written before a barrier, whatever the reading host's client of the file system has read
 * before, or read ahead. The file stays, the same in every run. Rank 0 prints the number of hosts.
 * Usage: straight_hosts FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { RECORD = 1312, RECORDS = 800, SHARE = RECORD * RECORDS, ROUNDS = 8 };

static const char* const kModes[] = {"twophase", "independent"};
static unsigned char *all, *mine;

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
  MPI_Info_set(info, "cb_buffer_size", "262144"); /* so that a call reads on and on */
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
        "open");
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "pmio_mode", sizeof found - 1, found, &is_there);
  MPI_Info_free(&info);
  *obeys = is_there && strcmp(found, mode) == 0;
  MPI_Type_vector(RECORDS, RECORD, RECORD * ranks, MPI_BYTE, &records);
  MPI_Type_commit(&records);
  MPI_File_set_view(file, (MPI_Offset)rank * RECORD, MPI_BYTE, records, "native", MPI_INFO_NULL);
  MPI_Type_free(&records);
  return file;
}

static void expect(int version, const char* what) {
  int same = 1;
  for (int i = 0; i < SHARE; i++) {
    const long long offset = (long long)(i / RECORD * ranks + rank) * RECORD + i % RECORD;
    same = same && mine[i] == byte_at(offset, version);
  }
  check(same, what);
}

/* One rank writes all, by a handle of its own view. */
static void overwrite(const char* path, const char* mode, int writer, int version) {
  if (rank != writer) return;
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", mode);
  check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "open alone");
  MPI_Info_free(&info);
  for (long long i = 0; i < (long long)SHARE * ranks; i++) all[i] = byte_at(i, version);
  check(MPI_File_write_at(file, 0, all, SHARE * ranks, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close alone");
}

static void read_together(MPI_File file, int from, int bytes) {
  memset(mine + from, 0, (size_t)bytes);
  check(MPI_File_read_at_all(file, from, mine + from, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "read_at_all");
}

static void read_alone(MPI_File file, int from, int bytes) {
  memset(mine + from, 0, (size_t)bytes);
  check(MPI_File_read_at(file, from, mine + from, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "read_at");
}

/* Ranks of another host in turn. The first part is read before, so that the client reads ahead. In between no
 * reader writes, which would renew what its client has. */
static void one_writes(const char* path, const char* mode, int round, int obeys, MPI_File file) {
  void (*const read_by)(MPI_File, int, int) = round % 2 == 0 ? read_together : read_alone;
  const int first = SHARE / RECORD / (2 + round) * RECORD;
  read_by(file, 0, first);
  MPI_Barrier(MPI_COMM_WORLD);
  overwrite(path, mode, round * (ranks / 2 + 1) % ranks, round);
  MPI_Barrier(MPI_COMM_WORLD);
  read_by(file, first, SHARE - first);
  read_by(file, 0, first);
  if (obeys) expect(round, round % 2 == 0 ? "read together" : "read alone");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void all_write(int version, int obeys, MPI_File file) {
  for (int i = 0; i < SHARE; i++) {
    const long long offset = (long long)(i / RECORD * ranks + rank) * RECORD + i % RECORD;
    mine[i] = byte_at(offset, version);
  }
  check(MPI_File_write_at_all(file, 0, mine, SHARE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
  MPI_Barrier(MPI_COMM_WORLD);
  read_together(file, 0, SHARE);
  if (obeys) expect(version, "what all have written");
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  all = malloc((size_t)SHARE * (size_t)ranks);
  mine = malloc(SHARE);
  for (int i = 0; i < 2; i++) {
    int obeys = 0;
    MPI_File file = opened(argv[1], kModes[i], &obeys);
    for (int round = 0; round < ROUNDS; round++) one_writes(argv[1], kModes[i], round, obeys, file);
    for (int round = 0; round < ROUNDS; round++) all_write(ROUNDS + round, obeys, file);
    check(MPI_File_close(&file) == MPI_SUCCESS, "close");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(all);
  free(mine);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
