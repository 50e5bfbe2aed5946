/* A file that all ranks, on any number of hosts, have written, closed and opened again: what it shows when
 * nobody has written it meanwhile, and when a program on another host has. Rank 0 prints the number of hosts.
 * Usage: rested_hosts FILE [ROUNDS] */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"

enum { SHARE = 5 << 20, FEW = 1000 };

static const char* path;
/* Of the ranks' shares, of the few bytes in each that are written elsewhere, and of the first few. */
static int version[64], patched[64], head[64];
static unsigned char *wanted, *found;

static unsigned char byte_at(long long offset, int of_version) {
  return (unsigned char)(offset * 7 + offset / 251 + of_version * 101);
}

static long long patch_of(int owner) { return (long long)owner * SHARE + SHARE / 2 + 17; }

static void want_share(int owner) {
  const long long begin = (long long)owner * SHARE;
  for (int i = 0; i < SHARE; ++i) wanted[i] = byte_at(begin + i, version[owner]);
  for (int i = 0; i < FEW && head[owner] > 0; ++i) wanted[i] = byte_at(begin + i, 80 + head[owner]);
  for (int i = 0; i < FEW && patched[owner] > 0; ++i) {
    const long long at = patch_of(owner) + i;
    wanted[at - begin] = byte_at(at, 50 + patched[owner]);
  }
}

static MPI_File opened(int mode) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
  return file;
}

static void closed(MPI_File file) { check(MPI_File_close(&file) == MPI_SUCCESS, "close"); }

static void write_first(MPI_File file, int bytes) {
  want_share(rank);
  check(MPI_File_write_at_all(file, (MPI_Offset)rank * SHARE, wanted, bytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS,
        "write");
}

static void write_shares(MPI_File file) {
  for (int i = 0; i < ranks; ++i) version[i]++, patched[i] = head[i] = 0;
  write_first(file, SHARE);
}

static void write_heads(MPI_File file) {
  for (int i = 0; i < ranks; ++i) head[i]++;
  write_first(file, FEW);
}

static void read_share(MPI_File file, int owner, const char* what) {
  want_share(owner);
  memset(found, 0, SHARE);
  check(MPI_File_read_at(file, (MPI_Offset)owner * SHARE, found, SHARE, MPI_BYTE, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS,
        what);
  check(memcmp(found, wanted, SHARE) == 0, what);
}

static void patch(int writer, int owner) {
  unsigned char data[FEW];
  patched[owner]++;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == writer) {
    const int fd = open(path, O_WRONLY);
    for (int i = 0; i < FEW; ++i) data[i] = byte_at(patch_of(owner) + i, 50 + patched[owner]);
    check(pwrite(fd, data, FEW, patch_of(owner)) == FEW && fsync(fd) == 0 && close(fd) == 0,
          "write by another program");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc < 2 || argc > 3 || ranks > 64) MPI_Abort(MPI_COMM_WORLD, 2);
  path = argv[1];
  const int rounds = argc == 3 ? atoi(argv[2]) : 4;
  wanted = malloc(SHARE);
  found = malloc(SHARE);
  const int of_host = ranks / hosts;
  const int neighbour = rank / of_host * of_host + (rank + 1) % of_host;
  for (int round = 0; round < rounds; ++round) {
    MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
    write_shares(file);
    const int victim = (round * 3 + 1) % ranks;
    const int changed = round % 2;
    /* What others know of by a sync they may write over while the file is open. */
    if (round % 3 > 0) check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
    if (round % 3 == 2) {
      patch((victim + of_host) % ranks, victim);
      write_heads(file);
    }
    closed(file);
    if (changed) patch((victim + of_host) % ranks, victim);
    file = opened(round % 4 < 2 ? MPI_MODE_RDONLY : MPI_MODE_RDWR);
    read_share(file, rank, "own share, opened again");
    read_share(file, neighbour, "the neighbour's share, opened again");
    read_share(file, neighbour, "the neighbour's share, read again");
    for (int i = 0; i < ranks; ++i) read_share(file, i, "all shares, read again");
    closed(file);
    /* Once more, without anything written. */
    if (changed) patch(victim, (victim + 1) % ranks);
    file = opened(MPI_MODE_RDWR);
    for (int i = 0; i < ranks; ++i) read_share(file, i, "all shares, opened once more");
    MPI_Barrier(MPI_COMM_WORLD);
    write_shares(file);
    if (is_logged(file)) read_share(file, rank, "own share, written over");
    closed(file);
    patch((victim + of_host) % ranks, victim);
  }
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
