/* Handles that do not log (pmio_mode=off), on files that others begin to log to behind their back: other
 * ranks, other handles of this process, under other names. Whatever was written before a barrier is there
 * after it. Checks itself. Usage: handed_on DIRECTORY */
#include <mpi.h>
#include <stdio.h>

#include "checks.h"

enum { ROUNDS = 60, WRITER = 0, NAMES = 3 };

static MPI_Info off;

static MPI_File opened(const char* name, MPI_Info info) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_SELF, path_of(name), MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "open");
  return file;
}

/* The only order between the ranks; pmio needs no MPI_File_sync, and the plain libraries none on one node. */
static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static const char* const kNames[NAMES] = {"target", "hard", "symbolic"};

static void make_names(void) {
  if (rank == 0) {
    make_linked_names();
    make_empty("other");
  }
  meet();
}

/* The readers have logged nothing themselves: what they know of the log is what the writer's rank tells them.
 * Between two openings they find, and may remember, that nobody logs to the file. */
static void another_rank_begins(void) {
  MPI_File file = opened("target", off), logged = MPI_FILE_NULL;
  for (int round = 0; round < ROUNDS; round++) {
    read_int(file, 0);
    meet();
    if (rank == WRITER) logged = opened(kNames[round % NAMES], MPI_INFO_NULL);
    meet();
    read_int(file, 0); /* open for the log, but nothing is in it yet */
    meet();
    if (rank == WRITER) write_int(logged, round, 100 + round);
    meet();
    check(read_int(file, round) == 100 + round, "what another rank has begun to log");
    meet();
    if (rank == WRITER) write_int(logged, round, 200 + round);
    meet();
    check(read_int(file, round) == 200 + round, "what another rank has logged since");
    meet();
    if (rank == WRITER) MPI_File_close(&logged);
    meet();
    check(read_int(file, round) == 200 + round, "what another rank has closed");
    meet();
  }
  MPI_File_close(&file);
  meet();
}

/* The last writer wins, whether its handle logs or not. */
static void writers_take_turns(void) {
  MPI_File file = opened("target", off), logged = MPI_FILE_NULL;
  MPI_Offset size = 0;
  for (int round = 0; round < ROUNDS; round++) {
    if (rank == WRITER) logged = opened(kNames[round % NAMES], MPI_INFO_NULL);
    if (rank == WRITER) write_int(logged, 0, 2 * round);
    meet();
    if (rank != WRITER) write_int(file, rank == ranks - 1 ? 0 : rank, 2 * round + 1);
    meet();
    if (rank == WRITER && ranks > 1)
      check(read_int(logged, 0) == 2 * round + 1, "the write that was handed on");
    if (rank == WRITER) write_int(logged, 1000 + round, round);
    meet();
    check(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 4 * (1001 + round), "the size");
    meet();
    if (rank == WRITER) MPI_File_close(&logged);
  }
  check(read_int(file, 0) == 2 * ROUNDS - (ranks > 1 ? 1 : 2), "the last write");
  meet();
  if (rank == WRITER) check(MPI_File_set_size(file, 4 * 1000) == MPI_SUCCESS, "set_size");
  meet();
  MPI_File_close(&file);
}

/* All in one process, with another logged file that comes and goes. */
static void another_handle_begins(void) {
  char own[64];
  snprintf(own, sizeof own, "own-%d", rank);
  make_empty(own);
  MPI_File file = opened(own, off);
  MPI_File other = opened("other", MPI_INFO_NULL);
  for (int round = 0; round < ROUNDS; round++) {
    write_int(other, rank * ROUNDS + round, round);
    read_int(file, 0);
    MPI_File logged = opened(own, MPI_INFO_NULL);
    read_int(file, round);
    write_int(logged, round, 300 + round);
    check(read_int(file, round) == 300 + round, "what another handle has begun to log");
    write_int(file, round, 400 + round);
    check(read_int(logged, round) == 400 + round, "the write that was handed on");
    MPI_File_close(&logged);
  }
  MPI_File_close(&other);
  MPI_File_close(&file);
}

/* The name is another file's by now; what is open is not. */
static void renamed(void) {
  char old_name[64], new_name[64], old_path[4096];
  snprintf(old_name, sizeof old_name, "old-%d", rank);
  snprintf(new_name, sizeof new_name, "new-%d", rank);
  snprintf(old_path, sizeof old_path, "%s", path_of(old_name));
  make_empty(old_name);
  MPI_File file = opened(old_name, off);
  check(rename(old_path, path_of(new_name)) == 0, "rename");
  make_empty(old_name);
  MPI_File logged = opened(new_name, MPI_INFO_NULL);
  write_int(logged, 0, 500);
  check(read_int(file, 0) == 500, "what was logged under the new name");
  MPI_File_close(&logged);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  MPI_Info_create(&off);
  MPI_Info_set(off, "pmio_mode", "off");
  make_names();
  another_rank_begins();
  writers_take_turns();
  another_handle_begins();
  renamed();
  MPI_Info_free(&off);
  return conclude();
}
