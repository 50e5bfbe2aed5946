/* What handles must get right beyond plain reading and writing: two handles on one file, modes, info, views
 * given back, atomic mode, other data representations, delete. Run with and without pmio; prints nothing
 * unless something is wrong. Usage: handles FILE */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"

static MPI_File opened(const char* name, int amode, MPI_Info info) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &file) == MPI_SUCCESS, "open");
  return file;
}

static void meet(MPI_File file) {
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
}

/* One handle logs where pmio is there, the other never does: the last writer wins whichever it is. */
static void two_handles(const char* name) {
  MPI_Info off;
  MPI_Info_create(&off);
  MPI_Info_set(off, "pmio_mode", "off");
  MPI_File first = opened(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
  MPI_File second = opened(name, MPI_MODE_RDWR, off);
  write_int(first, rank, 1);
  meet(first);
  check(read_int(second, rank) == 1, "the other handle's write");
  write_int(second, rank, 2);
  meet(second);
  check(read_int(first, (rank + 1) % ranks) == 2, "the newer write of the other handle");
  MPI_Barrier(MPI_COMM_WORLD);
  write_int(first, rank, 3);
  meet(first);
  check(read_int(second, (rank + 1) % ranks) == 3, "the newest write");
  MPI_File_close(&second);
  check(read_int(first, rank) == 3, "after the other handle's close");
  MPI_File_close(&first);
  MPI_Info_free(&off);
}

static void read_only(const char* name) {
  MPI_File file = opened(name, MPI_MODE_RDONLY, MPI_INFO_NULL);
  int value = 0, amode = 0;
  check(read_int(file, rank) == 3, "read-only handle");
  check(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "write on read-only");
  MPI_File_get_amode(file, &amode);
  check(amode == MPI_MODE_RDONLY, "get_amode");
  MPI_File_close(&file);
}

static void append(const char* name) {
  MPI_File file = opened(name, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL);
  MPI_Offset position = -1;
  int value = 7;
  MPI_File_get_position(file, &position);
  check(position == 4 * ranks, "position after opening to append");
  check(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "read on write-only");
  MPI_Barrier(MPI_COMM_WORLD);
  value = 7;
  if (rank == 0) MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  file = opened(name, MPI_MODE_RDONLY, MPI_INFO_NULL);
  check(read_int(file, ranks) == 7, "the appended int");
  MPI_File_close(&file);
}

static void views(const char* name) {
  MPI_File file = opened(name, MPI_MODE_RDWR, MPI_INFO_NULL);
  MPI_Datatype pair, etype, filetype;
  MPI_Offset disp = -1, at = -1;
  MPI_Aint lb, extent;
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_Type_vector(2, 1, 3, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  check(MPI_File_set_view(file, 8, MPI_INT, pair, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  MPI_Type_free(&pair);
  check(MPI_File_get_view(file, &disp, &etype, &filetype, datarep) == MPI_SUCCESS, "get_view");
  MPI_Type_get_extent(filetype, &lb, &extent);
  check(disp == 8 && etype == MPI_INT && extent == 16 && strcmp(datarep, "native") == 0,
        "what get_view gives");
  MPI_Type_free(&filetype);
  MPI_File_get_byte_offset(file, 3, &at);
  check(at == 8 + 16 + 12, "get_byte_offset");
  check(MPI_File_seek(file, 5, MPI_SEEK_SET) == MPI_SUCCESS, "seek");
  check(MPI_File_seek(file, -6, MPI_SEEK_CUR) != MPI_SUCCESS, "seek before the start");
  MPI_File_get_position(file, &at);
  check(at == 5, "position after a seek that failed");
  MPI_File_close(&file);
}

static void atomic_mode(const char* name) {
  MPI_File file = opened(name, MPI_MODE_RDWR, MPI_INFO_NULL);
  int flag = 0;
  MPI_Offset at = -1;
  write_int(file, 100 + rank, 50 + rank);
  MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_seek(file, 99 + rank, MPI_SEEK_SET);
  check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity");
  MPI_File_get_atomicity(file, &flag);
  check(flag == 1, "get_atomicity");
  MPI_File_get_position(file, &at);
  check(at == 99 + rank, "the pointer stays in atomic mode");
  MPI_File_read(file, &flag, 1, MPI_INT, MPI_STATUS_IGNORE);
  check(flag == 50 + rank, "what was logged before atomic mode");
  MPI_File_close(&file);
}

/* Of a view of ints. */
static int read_at(MPI_File file, int index) {
  int value = -1;
  MPI_File_read_at(file, index, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  return value;
}

static MPI_Datatype dealt_ints(void) {
  MPI_Datatype dealt;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)ranks * 4, &dealt);
  MPI_Type_commit(&dealt);
  return dealt;
}

/* Ints before, in and after atomic mode, dealt to the ranks in turn by a view that was set in atomic mode. */
static void ints_around_atomic_mode(MPI_File file, int logs) {
  MPI_Datatype dealt = dealt_ints();
  int value = 1;
  for (int i = 0; i < 4; ++i) write_int(file, i * ranks + rank, value);
  check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity");
  check(!is_logged(file), "in atomic mode the library has the file");
  MPI_File_set_view(file, 4 * (MPI_Offset)rank, MPI_INT, dealt, "native", MPI_INFO_NULL);
  for (value = 2; value < 4; ++value)
    check(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  check(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS, "set_atomicity");
  check(is_logged(file) == logs, "logged again");
  MPI_Offset at = -1;
  MPI_File_get_position(file, &at);
  check(at == 2, "the pointer of atomic mode goes on");
  MPI_File_get_byte_offset(file, at, &at);
  check(at == 4 * (MPI_Offset)(2 * ranks + rank), "the view of atomic mode goes on");
  check(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  meet(file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  const int written[] = {2, 3, 4, 1}, other = (rank + 1) % ranks;
  for (int i = 0; i < 4; ++i)
    check(read_at(file, i * ranks + other) == written[i], "written around atomic mode");
  MPI_Type_free(&dealt);
}

static void shared_pointer_around_atomic_mode(MPI_File file) {
  MPI_Offset at = -1;
  MPI_File_set_view(file, 4000, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  for (int round = 0; round < 5; ++round) {
    if (round % 2 == 1) check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity");
    const int value = 10 * round + rank;
    check(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_ordered");
    check(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS, "set_atomicity");
    MPI_File_get_position_shared(file, &at);
    check(at == (MPI_Offset)(round + 1) * ranks, "the shared pointer around atomic mode");
    meet(file);
  }
  const int other = (rank + 1) % ranks;
  for (int round = 0; round < 5; ++round)
    check(read_at(file, round * ranks + other) == 10 * round + other, "written by the shared pointer");
}

#ifndef OPEN_MPI
static void atomic_mode_ends_in_a_nonblocking_call(MPI_File file, int logs) {
  const int value = 77;
  MPI_Request request;
  MPI_File_set_view(file, 8000, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity");
  check(MPI_File_iwrite_at(file, rank, &value, 1, MPI_INT, &request) == MPI_SUCCESS, "iwrite_at");
  check(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS, "set_atomicity");
  check(is_logged(file) == logs, "logged again behind a nonblocking call");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  meet(file);
  check(read_at(file, (rank + 1) % ranks) == 77, "written by a nonblocking call");
}
#endif

static void atomic_mode_ends(const char* name) {
  MPI_File file = opened(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
  const char* mode = getenv("PMIO_MODE");
  const int logs = mode == NULL || strcmp(mode, "off") != 0;
  check(is_logged(file) == logs, "logged, but where pmio is off or not there");
  ints_around_atomic_mode(file, logs);
  shared_pointer_around_atomic_mode(file);
#ifndef OPEN_MPI /* it never gives back the lock of such a call */
  atomic_mode_ends_in_a_nonblocking_call(file, logs);
#endif
  MPI_File_close(&file);
}

static void write_small_files(const char* name) {
  char path[4096];
  for (int i = 0; i < 9; ++i) {
    snprintf(path, sizeof path, "%s-small-%d", name, i);
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    check(MPI_File_write_at_all(file, 4 * rank, &i, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at_all");
    MPI_File_close(&file);
    if (rank == 0) remove(path);
  }
}

/* Files behind small ones are handed on at first. One rank moves the library's shared pointer, of which the
 * others do not know; atomic mode comes and goes; then the file turns out not to be small. */
static void atomic_mode_of_a_file_that_looks_small(const char* name) {
  char path[4096];
  int value = 1;
  write_small_files(name);
  snprintf(path, sizeof path, "%s-large", name);
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
  if (rank == 0) MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity");
  check(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS, "set_atomicity");
  for (value = 2; value < 10; ++value)
    check(MPI_File_write_at_all(file, 4 * (100 + value * ranks + rank), &value, 1, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at_all");
  if (rank == 0) MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  meet(file);
  check(read_int(file, 0) == 1 && read_int(file, 1) == 10, "written by the shared pointer");
  for (value = 2; value < 10; ++value)
    check(read_int(file, 100 + value * ranks + (rank + 1) % ranks) == value, "written by all");
  MPI_File_close(&file);
  if (rank == 0) remove(path);
}

static void info(const char* name) {
  MPI_File file = opened(name, MPI_MODE_RDWR, MPI_INFO_NULL);
  MPI_Info used;
  check(MPI_File_get_info(file, &used) == MPI_SUCCESS, "get_info");
  MPI_Info_free(&used);
  MPI_File_close(&file);
}

static void deleting(const char* name) {
  MPI_File file = opened(name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
  write_int(file, rank, 9);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close with delete");
  MPI_Barrier(MPI_COMM_WORLD);
  check(access(name, F_OK) != 0, "deleted on close");
  check(MPI_File_delete(name, MPI_INFO_NULL) != MPI_SUCCESS, "delete what is not there");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (rank == 0) remove(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  two_handles(argv[1]);
  read_only(argv[1]);
  append(argv[1]);
  views(argv[1]);
  atomic_mode(argv[1]);
  atomic_mode_ends(argv[1]);
  atomic_mode_of_a_file_that_looks_small(argv[1]);
  info(argv[1]);
  deleting(argv[1]);
  return conclude();
}
