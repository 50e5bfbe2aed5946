/* Files of one rank each (MPI_COMM_SELF), or of all ranks together: TURNS of them opened, written and closed
 * in turn, then AT_ONCE held open together. What the process holds must not grow with the former, and only in
 * proportion with the latter. Where an open fails for want of descriptors, what is open is used all the same:
 * nothing of it may be lost. The program's own communicators are not used up. The files stay in DIRECTORY.
 * Usage: many_files DIRECTORY TURNS AT_ONCE [together] */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"

enum { WARM_UP = 100, INTS = 250, BLOCKS = 8, BLOCK_BYTES = INTS * 4 };

// Of an open file.
#ifdef I_MPI_NUMVERSION
enum { LIBRARY_DESCRIPTORS = 2 };
#else
enum { LIBRARY_DESCRIPTORS = 1 };
#endif

static MPI_Comm comm;       /* that opens the files */
static int member, members; /* in it */

static int descriptors(void) {
  int count = 0;
  DIR* open_now = opendir("/proc/self/fd");
  while (open_now != NULL && readdir(open_now) != NULL) count++;
  if (open_now != NULL) closedir(open_now);
  return count;
}

/* A file that is being drained is let go when it is closed, a moment later. */
static int descriptors_fall_to(int count) {
  for (int i = 0; i < 1000 && descriptors() > count; i++) usleep(10000);
  return descriptors() <= count;
}

static const char* name_of(const char* kind, int number) {
  static char name[4096];
  snprintf(name, sizeof name, "%s/%s-%d-%d", directory, kind, rank - member, number);
  return name;
}

static int opened(const char* name, MPI_File* file) {
  return MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, file) == MPI_SUCCESS;
}

static void fill(int* values, int number, int block) {
  for (int i = 0; i < INTS; i++) values[i] = (number * BLOCKS + block) * 1009 + i + rank;
}

static MPI_Offset place_of(int block) { return ((MPI_Offset)block * members + member) * BLOCK_BYTES; }

static void write_block(MPI_File file, int number, int block) {
  int values[INTS];
  fill(values, number, block);
  check(MPI_File_write_at(file, place_of(block), values, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at");
}

static void read_block(MPI_File file, int number, int block) {
  int wanted[INTS], values[INTS] = {0};
  fill(wanted, number, block);
  check(MPI_File_read_at(file, place_of(block), values, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
            memcmp(values, wanted, sizeof wanted) == 0,
        "what is read back");
}

static void in_turn(int turns) {
  int before = 0;
  for (int number = 0; number < turns; number++) {
    MPI_File file;
    check(opened(name_of("turn", number), &file), "open in turn");
    write_block(file, number, 0);
    check(MPI_File_close(&file) == MPI_SUCCESS, "close in turn");
    if (number == WARM_UP) before = descriptors();
  }
  if (turns > WARM_UP) check(descriptors_fall_to(before), "descriptors grow with files that are closed");
}

static int open_all(MPI_File* files, int most) {
  int open_now = 0;
  while (open_now < most && opened(name_of("once", open_now), &files[open_now])) open_now++;
  if (open_now < most) remove(name_of("once", open_now));
  return open_now;
}

static void at_once(int most) {
  MPI_File* files = malloc((size_t)most * sizeof *files);
  const int before = descriptors();
  const int count = open_all(files, most);
  for (int block = 0; block < BLOCKS; block++)
    for (int number = 0; number < count; number++) write_block(files[number], number, block);
  check(descriptors() <= before + (LIBRARY_DESCRIPTORS + 1) * count + 16,
        "more than one descriptor of pmio's for a file");
  MPI_Comm one_more;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &one_more) == MPI_SUCCESS, "a communicator more");
  MPI_Comm_free(&one_more);
  for (int number = count - 1; number >= 0; number--) read_block(files[number], number, number % BLOCKS);
  for (int number = 0; number < count; number++)
    check(MPI_File_close(&files[number]) == MPI_SUCCESS, "close of many");
  check(descriptors_fall_to(before + 16), "descriptors stay when the files are closed");
  free(files);
  for (int turn = 0; turn < 2; turn++) {
    if (turn == rank) printf("rank %d: %d of %d open at once\n", rank, count, most);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 4 && argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  comm = argc == 5 ? MPI_COMM_WORLD : MPI_COMM_SELF;
  MPI_Comm_rank(comm, &member);
  MPI_Comm_size(comm, &members);
  in_turn(atoi(argv[2]));
  at_once(atoi(argv[3]));
  return conclude();
}
