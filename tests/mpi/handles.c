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
  info(argv[1]);
  deleting(argv[1]);
  return conclude();
}
