/* What is read again, on any number of hosts, by ranks that have it cached, after a program on another host,
 * or a rank, has written it since. By small reads, one behind the other, and by such with gaps, which the
 * ranks of a host do for each other. Rank 0 prints the number of hosts. Usage: reread_hosts FILE */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { PIECE = 1000, PIECES = 1000, SHARE = PIECE * PIECES, ROUNDS = 4 };

static const char* path;
static int versions[64]; /* of the ranks' shares */

static unsigned char byte_at(long long offset, int version) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 101);
}

static void fill(unsigned char* data, long long offset, int version) {
  for (int i = 0; i < PIECE; ++i) data[i] = byte_at(offset + i, version);
}

static MPI_File opened(int mode) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
  return file;
}

static void closed(MPI_File file) {
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  MPI_Barrier(MPI_COMM_WORLD);
}

static int piece_is_right(MPI_File file, long long at, const char* what) {
  unsigned char found[PIECE] = {0}, wanted[PIECE];
  check(MPI_File_read_at(file, at, found, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, what);
  fill(wanted, at, versions[at / SHARE]);
  return memcmp(found, wanted, PIECE) == 0;
}

static void read_share(MPI_File file, int owner, const char* what) {
  int same = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  for (long long at = (long long)owner * SHARE; at < (long long)(owner + 1) * SHARE; at += PIECE)
    same = piece_is_right(file, at, what) && same;
  check(same, what);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Of all shares each rank reads every n-th piece, of n ranks. */
static void read_in_turn(MPI_File file, const char* what) {
  int same = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  for (long long piece = rank; piece < (long long)ranks * PIECES; piece += ranks)
    same = piece_is_right(file, piece * PIECE, what) && same;
  check(same, what);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rounds in each of which all learn by a barrier what one rank has written past the others' reads. */
static void write_between_reads(MPI_File file, int logged) {
  unsigned char data[PIECE];
  for (int round = 0; round < ROUNDS; ++round) {
    const int writer = (round * 3 + 1) % ranks;
    read_in_turn(file, "what is there before one rank writes");
    versions[writer]++;
    for (long long at = (long long)writer * SHARE; rank == writer && at < (long long)(writer + 1) * SHARE;
         at += PIECE) {
      fill(data, at, versions[writer]);
      check(MPI_File_write_at(file, at, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at");
    }
    if (!logged || round % 2 == 1) {
      check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
      MPI_Barrier(MPI_COMM_WORLD);
      check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
    }
    read_in_turn(file, "what one rank has written between two reads");
  }
}

/* By one rank, which sees the file as any program does. */
static void write_elsewhere(int owner) {
  unsigned char data[PIECE];
  versions[owner]++;
  if (rank == 0) {
    const int fd = open(path, O_WRONLY);
    for (long long at = (long long)owner * SHARE; at < (long long)(owner + 1) * SHARE; at += PIECE) {
      fill(data, at, versions[owner]);
      check(pwrite(fd, data, PIECE, at) == PIECE, "pwrite");
    }
    check(close(fd) == 0, "close of the writer");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void write_shares(MPI_File file, int by_all) {
  const long long at = (long long)rank * SHARE;
  unsigned char* data = malloc(SHARE);
  for (int i = 0; i < ranks; ++i) versions[i]++;
  for (int i = 0; i < SHARE; ++i) data[i] = byte_at(at + i, versions[rank]);
  const int error = by_all ? MPI_File_write_at_all(file, at, data, SHARE, MPI_BYTE, MPI_STATUS_IGNORE)
                           : MPI_File_write_at(file, at, data, SHARE, MPI_BYTE, MPI_STATUS_IGNORE);
  check(error == MPI_SUCCESS, "write");
  free(data);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc != 2 || ranks > 64) MPI_Abort(MPI_COMM_WORLD, 2);
  path = argv[1];
  const int owner = (rank + ranks / hosts) % ranks; /* of the next host */
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  const int logged = is_logged(file);
  write_shares(file, 1);
  closed(file);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int again = 0; again < 2; ++again) {
      file = opened(again == 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR);
      read_share(file, owner, "what nobody has written since");
      closed(file);
    }
    write_elsewhere((ranks - 1 + round) % ranks);
    file = opened(round % 2 ? MPI_MODE_RDONLY : MPI_MODE_RDWR);
    if (round >= 2) read_in_turn(file, "what another host has written before the open, in turn");
    for (int i = 0; i < ranks; ++i) read_share(file, i, "what another host has written before the open");
    closed(file);
    for (int by_all = 0; by_all < 2; ++by_all) {
      file = opened(MPI_MODE_RDWR);
      read_share(file, owner, "what is there before it is written over");
      write_shares(file, by_all);
      if (logged) read_share(file, owner, "what another rank has written before the barrier");
      if (logged) read_in_turn(file, "what all have written before the barrier, in turn");
      closed(file);
    }
  }
  file = opened(MPI_MODE_RDWR);
  write_between_reads(file, logged);
  closed(file);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
