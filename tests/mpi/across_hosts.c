/* What must hold on any number of hosts, by the MPI standard alone: bytes that one rank writes are read by
 * another after a sync, a barrier and a sync, and the file is complete after its close. The ranks' pieces
 * interleave, collectively through a view and independently, and are then written once more by the next rank.
 * The file is left for a look. Rank 0 prints the number of hosts. Usage: across_hosts FILE [pmio_mode], which
 * must then be what MPI_File_get_info shows for that key. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { PIECE = 1312, PIECES = 64, CALLS = 16, CALL = PIECE * PIECES, SHARE = CALL * CALLS };

static unsigned char byte_at(long long offset, int version) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 101);
}

/* Offset of byte i of what `owner` has of the file: every ranks-th piece. */
static long long offset_of(int owner, long long i) { return (i / PIECE * ranks + owner) * PIECE + i % PIECE; }

static void set_strided_view(MPI_File file, int owner) {
  MPI_Datatype piece, column;
  MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * ranks, &column);
  MPI_Type_commit(&column);
  check(MPI_File_set_view(file, (MPI_Offset)PIECE * owner, MPI_BYTE, column, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        "set_view");
  MPI_Type_free(&piece);
  MPI_Type_free(&column);
}

static void write_collectively(MPI_File file, unsigned char* data, int owner, int version) {
  set_strided_view(file, owner);
  for (int call = 0; call < CALLS; ++call) {
    for (int i = 0; i < CALL; ++i) data[i] = byte_at(offset_of(owner, (long long)call * CALL + i), version);
    check(MPI_File_write_all(file, data, CALL, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  }
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
}

static void write_independently(MPI_File file, unsigned char* data, int owner, int version) {
  for (long long at = 0; at < SHARE; at += PIECE) {
    for (int i = 0; i < PIECE; ++i) data[i] = byte_at(offset_of(owner, at + i), version);
    check(MPI_File_write_at(file, offset_of(owner, at), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS,
          "write_at");
  }
}

static void read_back(MPI_File file, int version) {
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  const int bytes = SHARE * ranks;
  unsigned char* data = calloc(1, (size_t)bytes);
  MPI_Status status;
  int count = -1, same = 1;
  check(MPI_File_read_at(file, 0, data, bytes, MPI_BYTE, &status) == MPI_SUCCESS, "read_at");
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == bytes, "count of read_at");
  for (long long i = 0; i < bytes; ++i) same = same && data[i] == byte_at(i, version);
  check(same, "bytes of other ranks after sync, barrier, sync");
  free(data);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody overwrites what another still reads */
}

static void expect_mode(MPI_File file, const char* expected) {
  MPI_Info info;
  char mode[16] = "";
  int found = 0;
  check(MPI_File_get_info(file, &info) == MPI_SUCCESS, "get_info");
  MPI_Info_get(info, "pmio_mode", sizeof mode - 1, mode, &found);
  check(found && strcmp(mode, expected) == 0, "pmio_mode");
  MPI_Info_free(&info);
}

/* Under pmio what is only read is not logged, and yet not read as this host has it cached. */
static void read_anew(const char* name) {
  MPI_File file;
  check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "open again");
  expect_mode(file, "off");
  read_back(file, 3);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close again");
}

/* What others have logged is read by a handle of this rank alone, which is handed on, and written over by it.
 */
static void use_own_handle(const char* name, unsigned char* data, int owner, int old, int version) {
  MPI_File file;
  check(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open alone");
  for (long long at = 0; at < SHARE; at += CALL) {
    int same = 1;
    check(
        MPI_File_read_at(file, offset_of(owner, at), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "read_at alone");
    for (int i = 0; i < PIECE; ++i) same = same && data[i] == byte_at(offset_of(owner, at + i), old);
    check(same, "bytes of another rank after a barrier, read alone");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  write_independently(file, data, owner, version);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close alone");
}

int main(int argc, char** argv) {
  MPI_File file;
  begin(&argc, &argv);
  const int hosts = count_hosts();
  const int opened = argc >= 2 && MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                                MPI_INFO_NULL, &file) == MPI_SUCCESS;
  check(opened, "usage: across_hosts FILE [pmio_mode], FILE can be written");
  if (opened) {
    if (argc == 3) expect_mode(file, argv[2]);
    unsigned char* data = malloc(CALL);
    write_collectively(file, data, rank, 1);
    read_back(file, 1);
    write_independently(file, data, (rank + 1) % ranks, 2);
    read_back(file, 2);
    if (argc == 3 && strcmp(argv[2], "log") == 0) {
      use_own_handle(argv[1], data, (rank + 2) % ranks, 2, 4);
      read_back(file, 4);
      write_collectively(file, data, rank, 5);
      MPI_Barrier(MPI_COMM_WORLD);
      use_own_handle(argv[1], data, (rank + ranks - 1) % ranks, 5, 6);
      read_back(file, 6);
    }
    write_collectively(file, data, (rank + 2) % ranks, 3);
    free(data);
    check(MPI_File_close(&file) == MPI_SUCCESS, "close");
    if (argc == 3) read_anew(argv[1]);
  }
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
