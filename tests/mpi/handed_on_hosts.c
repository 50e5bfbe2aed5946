/* Calls that pmio hands on to the MPI library, on any number of hosts, beside collective writes that it logs:
 * what the MPI standard alone promises, by sync, barrier, sync. The file is left for a look; it is the same
 * on any number of hosts. Rank 0 prints the number of hosts. Usage: handed_on_hosts FILE [log], if the file
 * must be logged at first.
 *
 * MooseFS keeps less than the promise, also for plain MPI-IO (docs/measurements/2026-11-26.md, "What clients
 * of MooseFS see"): a client hears later than the sync that another one has made the file longer, and keeps
 * what it has read or read ahead. Therefore
 * - the file has its length before it is opened, but for what is logged, which lies behind it;
 * - the library reads no place twice, and its places are further apart than a client reads ahead;
 * - only ranks of one host use the library's shared pointer. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum {
  BLOCK = 3072,
  PLACE = 4 << 20,
  LENGTH = 14 * PLACE, /* of the file when it is opened */
  POINTING = 2         /* ranks that use the library's shared pointer, all on the first host */
};

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
    fprintf(stderr, "handed_on_hosts.c: rank %d: place %lld, byte %lld, version %d: %d bytes\n", rank,
            offset / PLACE, offset % PLACE, version, count);
  check(count == BLOCK && same, what);
  free(found);
}

/* What the library has written behind that length is not read: only the file that is left tells of it. */
static void expect_all(MPI_File file, MPI_Comm comm, long long base, int alike, const char* what) {
  settle(file, comm);
  if (base >= LENGTH && !is_logged(file)) return;
  for (int i = 0; i < ranks; ++i) expect(file, base + (long long)i * BLOCK, alike, what);
  MPI_Barrier(comm);
}

static void overwrite_unsettled(MPI_File file, long long base) {
  ++version;
  const long long mine = base + (long long)rank * BLOCK;
  fill(mine);
  check(MPI_File_write_at_all(file, mine, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
}

static void overwrite(MPI_File file, long long base) {
  overwrite_unsettled(file, base);
  settle(file, MPI_COMM_WORLD);
}

static void collectively(MPI_File file, long long base) {
  overwrite(file, base);
  expect_all(file, MPI_COMM_WORLD, base, 0, "what write_at_all wrote");
}

/* What the ranks that do not use the library's shared pointer write. */
static void write_own(MPI_File file, long long base) {
  check(MPI_File_write_at(file, base + (long long)rank * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS,
        "write_at");
}

static void expect_position(MPI_File file, long long expected) {
  MPI_Offset at = 0;
  check(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == expected, "the shared pointer");
}

static void by_shared_pointer(MPI_File file, long long base) {
  const int pointing = is_logged(file) ? ranks : POINTING;
  ++version;
  check(MPI_File_seek_shared(file, base, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
  fill_alike();
  if (rank < pointing)
    check(MPI_File_write_shared(file, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_shared");
  else
    write_own(file, base);
  expect_all(file, MPI_COMM_WORLD, base, 1, "what write_shared wrote");
  if (rank < pointing) expect_position(file, base + (long long)pointing * BLOCK);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void in_order(MPI_File file, long long base) {
  const int pointing = is_logged(file) ? ranks : POINTING;
  ++version;
  check(MPI_File_seek_shared(file, base, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
  fill(base + (long long)rank * BLOCK);
  check(MPI_File_write_ordered(file, block, rank < pointing ? BLOCK : 0, MPI_BYTE, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS,
        "write_ordered");
  if (rank >= pointing) write_own(file, base);
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

static void blocking(MPI_File file, long long base, long long apart) {
  collectively(file, base);
  by_shared_pointer(file, base + apart);
  in_order(file, base + 2 * apart);
  split(file, base + 3 * apart);
  overwrite(file, base + apart);
}

static void all_kinds(MPI_File file, long long base, long long apart) {
  blocking(file, base, apart);
  nonblocking(file, base);
}

static void set_atomicity(MPI_File file, int flag) {
  check(MPI_File_set_atomicity(file, flag) == MPI_SUCCESS, "set_atomicity");
}

/* A file that logs does so again behind atomic mode. */
static void atomic_for_a_while(MPI_File file, int logs) {
  const long long first = 10 * PLACE;
  set_atomicity(file, 1);
  settle(file, MPI_COMM_WORLD);
  check(!is_logged(file), "handed on in atomic mode");
  blocking(file, first, PLACE);
  set_atomicity(file, 0);
  check(is_logged(file) == logs, "logged again");
  if (logs) expect_all(file, MPI_COMM_WORLD, first + PLACE, 0, "what the library wrote in atomic mode");
  overwrite(file, first);
  if (logs) expect_all(file, MPI_COMM_WORLD, first, 0, "written over what the library wrote");
  all_kinds(file, LENGTH + 40 * BLOCK, 8 * BLOCK);
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

static void make_long(void) {
  FILE* file = rank == 0 ? fopen(path, "w") : NULL;
  if (rank == 0) check(file != NULL && ftruncate(fileno(file), LENGTH) == 0 && fclose(file) == 0, "make");
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  path = argv[1];
  block = malloc(BLOCK);
  make_long();
  MPI_File file = opened(MPI_COMM_WORLD, 0);
  if (argc == 3) check(is_logged(file), "logged");
  all_kinds(file, LENGTH, 8 * BLOCK); /* logged where the job's files are; a number of pages apart */
  atomic_for_a_while(file, argc == 3);
  overwrite_unsettled(file, LENGTH);
  set_atomicity(file, 1); /* from here on handed on, for there are nonblocking calls */
  settle(file, MPI_COMM_WORLD);
  nonblocking(file, LENGTH); /* over what was logged */
  all_kinds(file, 0, PLACE);
  set_atomicity(file, 0);
  check(hosts == 1 || !is_logged(file), "handed on behind a nonblocking call");
  overwrite(file, 0);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  some_ranks(4 * PLACE);
  file = opened(MPI_COMM_WORLD, 1);
  all_kinds(file, 5 * PLACE, PLACE);
  MPI_File beside = opened(MPI_COMM_WORLD, 0); /* not logged beside one that is handed on, on several hosts */
  collectively(beside, 9 * PLACE);
  expect_all(file, MPI_COMM_WORLD, 9 * PLACE, 0, "what another handle wrote");
  nonblocking(file, 9 * PLACE);
  check(MPI_File_close(&beside) == MPI_SUCCESS, "close");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  free(block);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
