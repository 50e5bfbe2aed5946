/* Opens that fail, by what an error handler of MPI_FILE_NULL makes of them: success without a handle, on all
 * ranks or on one. Nothing may come into the file that was not opened, nobody may wait for a rank that has no
 * handle, and another file whose handle the variable held stays what it was. Checks itself; the files that
 * stay in DIRECTORY are the same in every run. Usage: failed_opens DIRECTORY */
#include <mpi.h>

#include "checks.h"

static void say_success(MPI_File* file, int* code, ...) {
  (void)file;
  *code = MPI_SUCCESS;
}

static void make_precious(void) {
  if (rank == 0) {
    FILE* file = fopen(path_of("precious"), "w");
    fputs("precious bytes\n", file);
    fclose(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static int is_precious(void) {
  char line[64] = "";
  FILE* file = fopen(path_of("precious"), "r");
  const int ok = fgets(line, sizeof line, file) != NULL && strcmp(line, "precious bytes\n") == 0;
  fclose(file);
  return ok;
}

/* What a program does that looks at codes alone. All of it fails, each in its own way. */
static void use(MPI_File* file) {
  int value = 0x58585858;
  MPI_Offset size = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_File_write_at(*file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write(*file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at(*file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(*file, 4, &value, 1, MPI_INT, &request);
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_at_all_begin(*file, 8, &value, 1, MPI_INT);
  MPI_File_write_at_all_end(*file, &value, MPI_STATUS_IGNORE);
  MPI_File_set_view(*file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_get_size(*file, &size);
  MPI_File_sync(*file);
  MPI_File_close(file);
}

static void handler_of_null(MPI_Errhandler handler) { MPI_File_set_errhandler(MPI_FILE_NULL, handler); }

static void what_exists(MPI_Comm comm) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(comm, path_of("precious"), MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL,
                &file);
  check(file == MPI_FILE_NULL, "a handle of an open that failed");
  use(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  check(is_precious(), "the file that was not opened is as it was");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void what_is_missing(void) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path_of("missing"), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  check(file == MPI_FILE_NULL, "a handle of a file that is missing");
  check(access(path_of("missing"), F_OK) != 0, "nothing is made");
}

/* The variable of an open file, which is used again for another open by mistake. */
static void variable_in_use(void) {
  MPI_File file, open_file;
  check(MPI_File_open(MPI_COMM_WORLD, path_of("good"), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS,
        "open");
  write_int(file, rank, 1000 + rank);
  open_file = file;
  MPI_File_open(MPI_COMM_WORLD, path_of("missing"), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  write_int(open_file, ranks + rank, 2000 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  check(read_int(open_file, (rank + 1) % ranks) == 1000 + (rank + 1) % ranks, "what was written before");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_close(&open_file) == MPI_SUCCESS, "close");
}

int main(int argc, char** argv) {
  MPI_Errhandler quiet;
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  MPI_File_create_errhandler(say_success, &quiet);
  make_precious();
  what_is_missing();
  if (rank == 0) handler_of_null(quiet);
  what_is_missing();
  if (rank != 0) handler_of_null(quiet); /* MPICH counts what uses it wrongly: once, and never freed */
  what_exists(MPI_COMM_WORLD);
  what_exists(MPI_COMM_SELF);
  variable_in_use();
  return conclude();
}
