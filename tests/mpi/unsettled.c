/* Calls on a handle that does not log (pmio_mode=off) while another handle's bytes cannot be brought to the
 * file: each says so, and those that other ranks take part in do not leave them waiting. To be run where
 * pmio's pwrite to FILE fails with EIO. Checks itself. Usage: unsettled FILE */
#include <mpi.h>
#include <stdio.h>

#include "checks.h"

static int fails(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class == MPI_ERR_IO;
}

static int handled;

static void count_errors(MPI_File* file, int* code, ...) {
  (void)file;
  handled += fails(*code);
}

static void of_one_rank(MPI_File file) {
  int value = 1;
  MPI_Offset size = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(fails(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE)), "read_at");
  check(fails(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE)), "write_at");
  check(fails(MPI_File_iread_at(file, 0, &value, 1, MPI_INT, &request)), "iread_at");
  check(request == MPI_REQUEST_NULL, "no request of a call that failed");
  check(fails(MPI_File_get_size(file, &size)), "get_size");
}

static void of_all_ranks(MPI_File file) {
  int value = 1;
  MPI_Offset position = 0;
  check(fails(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE)), "write_at_all");
  check(fails(MPI_File_sync(file)), "sync");
  check(fails(MPI_File_preallocate(file, 4096)), "preallocate");
  check(MPI_File_get_position(file, &position) == MPI_SUCCESS, "an error is returned once");
  check(MPI_File_write_at_all_begin(file, rank, &value, 1, MPI_INT) == MPI_SUCCESS, "write_at_all_begin");
  check(fails(MPI_File_write_at_all_end(file, &value, MPI_STATUS_IGNORE)), "write_at_all_end");
}

int main(int argc, char** argv) {
  MPI_File logged, file;
  MPI_Info off;
  MPI_Errhandler counting;
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Info_create(&off);
  MPI_Info_set(off, "pmio_mode", "off");
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &logged);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, off, &file);
  MPI_File_create_errhandler(&count_errors, &counting);
  MPI_File_set_errhandler(file, counting);
  write_int(logged, 100 + rank, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  of_one_rank(file);
  check(handled == 4, "the error handler is called for each");
  MPI_Barrier(MPI_COMM_WORLD);
  of_all_ranks(file);
  check(handled == 8, "the error handler is called for each call of all ranks");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close without the log");
  check(fails(MPI_File_close(&logged)), "close with the log");
  MPI_Errhandler_free(&counting);
  MPI_Info_free(&off);
  return conclude();
}
