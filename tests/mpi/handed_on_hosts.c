/* Calls that pmio hands on to the MPI library, on any number of hosts, beside collective writes that it logs:
 * what the MPI standard alone promises, by sync, barrier, sync. The file is left for a look; it is the same
 * on any number of hosts. No place is read twice: a network file system's client may have it cached for a
 * second. Rank 0 prints the number of hosts. Usage: handed_on_hosts FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { BLOCK = 3072, ROUND = 8 * BLOCK }; /* a round is a number of pages */

static const char* path;
static unsigned char* block;
static int version;

static MPI_File opened(MPI_Comm comm, int off) {
  MPI_Info info;
  MPI_File file = MPI_FILE_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", "disable"); /* which is wrong on some file systems */
  if (off) MPI_Info_set(info, "pmio_mode", "off");
  check(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "open");
  MPI_Info_free(&info);
  return file;
}

static unsigned char byte_at(long long offset) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 37);
}

static void fill(long long offset) {
  for (int i = 0; i < BLOCK; ++i) block[i] = byte_at(offset + i);
}

/* The same from all ranks, so that it does not matter who comes first. */
static void fill_alike(void) { memset(block, version, BLOCK); }

static void settle(MPI_File file, MPI_Comm comm) {
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  MPI_Barrier(comm);
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
}

static void expect(MPI_File file, long long offset, int alike, const char* what) {
  MPI_Status status;
  int count = -1, same = 1;
  unsigned char* found = calloc(1, BLOCK);
  check(MPI_File_read_at(file, offset, found, BLOCK, MPI_BYTE, &status) == MPI_SUCCESS, what);
  MPI_Get_count(&status, MPI_BYTE, &count);
  for (int i = 0; i < BLOCK; ++i)
    same = same && found[i] == (alike ? (unsigned char)version : byte_at(offset + i));
  if (count != BLOCK || !same)
    fprintf(stderr, "handed_on_hosts.c: rank %d: round at %lld, block at %lld, version %d: %d bytes\n", rank,
            offset / ROUND, offset % ROUND / BLOCK, version, count);
  check(count == BLOCK && same, what);
  free(found);
}

static void expect_all(MPI_File file, MPI_Comm comm, long long base, int alike, const char* what) {
  settle(file, comm);
  for (int i = 0; i < ranks; ++i) expect(file, base + (long long)i * BLOCK, alike, what);
  MPI_Barrier(comm);
}

static void overwrite(MPI_File file, long long base) {
  ++version;
  const long long mine = base + (long long)rank * BLOCK;
  fill(mine);
  check(MPI_File_write_at_all(file, mine, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
  settle(file, MPI_COMM_WORLD);
}

static void collectively(MPI_File file, long long base) {
  overwrite(file, base);
  expect_all(file, MPI_COMM_WORLD, base, 0, "what write_at_all wrote");
}

static void by_shared_pointer(MPI_File file, long long base) {
  ++version;
  check(MPI_File_seek_shared(file, base, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
  fill_alike();
  check(MPI_File_write_shared(file, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_shared");
  expect_all(file, MPI_COMM_WORLD, base, 1, "what write_shared wrote");
  MPI_Offset at = 0;
  check(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == base + (long long)ranks * BLOCK,
        "the shared pointer");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void in_order(MPI_File file, long long base) {
  ++version;
  check(MPI_File_seek_shared(file, base, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
  fill(base + (long long)rank * BLOCK);
  check(MPI_File_write_ordered(file, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_ordered");
  expect_all(file, MPI_COMM_WORLD, base, 0, "what write_ordered wrote");
}

static void nonblocking(MPI_File file, long long base) {
  ++version;
  const long long mine = base + (long long)((rank + 1) % ranks) * BLOCK;
  MPI_Request request;
  fill(mine);
  check(MPI_File_iwrite_at(file, mine, block, BLOCK, MPI_BYTE, &request) == MPI_SUCCESS, "iwrite_at");
  check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
  settle(file, MPI_COMM_WORLD);
}

static void split(MPI_File file, long long base) {
  ++version;
  const long long mine = base + (long long)((rank + 2) % ranks) * BLOCK;
  fill(mine);
  check(MPI_File_write_at_all_begin(file, mine, block, BLOCK, MPI_BYTE) == MPI_SUCCESS, "write_at_all_begin");
  check(MPI_File_write_at_all_end(file, block, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at_all_end");
  expect_all(file, MPI_COMM_WORLD, base, 0, "what write_at_all_begin wrote");
}

static void all_kinds(MPI_File file, long long base) {
  collectively(file, base);
  by_shared_pointer(file, base + ROUND);
  in_order(file, base + 2 * ROUND);
  nonblocking(file, base);
  split(file, base + 3 * ROUND);
  overwrite(file, base + ROUND);
}

/* Every second rank, on all hosts; the others wait, with the file closed. */
static void some_ranks(long long base) {
  MPI_Comm some;
  ++version;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &some);
  if (rank % 2 == 0) {
    MPI_File file = opened(some, 0);
    const long long mine = base + (long long)rank * BLOCK;
    fill(mine);
    check(MPI_File_write_at_all(file, mine, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at_all of some ranks");
    settle(file, some);
    for (int i = 0; i < ranks; i += 2) expect(file, base + (long long)i * BLOCK, 0, "what some ranks wrote");
    check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  }
  MPI_Comm_free(&some);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  path = argv[1];
  block = malloc(BLOCK);
  MPI_File file = opened(MPI_COMM_WORLD, 0);
  all_kinds(file, 0); /* logged where the job's files are */
  overwrite(file, 0);
  check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity"); /* from here on handed on */
  all_kinds(file, 4 * ROUND);
  nonblocking(file, 0); /* over what was logged */
  check(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS, "set_atomicity");
  overwrite(file, 4 * ROUND);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  some_ranks(8 * ROUND);
  file = opened(MPI_COMM_WORLD, 1);
  all_kinds(file, 12 * ROUND);
  MPI_File logged = opened(MPI_COMM_WORLD, 0); /* beside one that is handed on */
  collectively(logged, 16 * ROUND);
  expect_all(file, MPI_COMM_WORLD, 16 * ROUND, 0, "what another handle wrote");
  nonblocking(file, 16 * ROUND);
  check(MPI_File_close(&logged) == MPI_SUCCESS, "close");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  free(block);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
