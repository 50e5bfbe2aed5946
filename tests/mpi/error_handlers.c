/* Error handlers of the program that use files themselves: what they find and leave is what the program
 * itself would. Checks itself; the files that stay in DIRECTORY are the same in every run. Usage:
 * error_handlers DIRECTORY file|null; null: handlers of MPI_FILE_NULL too */
#include <mpi.h>

#include "checks.h"

static MPI_File file; /* what the handlers use */
static int calls;

static MPI_Offset position(void) {
  MPI_Offset at = -1;
  check(MPI_File_get_position(file, &at) == MPI_SUCCESS, "get_position");
  return at;
}

static int read_back(int call) { return read_int(file, 2 * ranks + 100 * rank + call); }

/* The file itself may not be what the call that fails is about. */
static void use_file(MPI_File* failed, int* code, ...) {
  int class = MPI_SUCCESS;
  (void)failed;
  MPI_Error_class(*code, &class);
  check(class != MPI_SUCCESS, "a handler is called with an error");
  check(position() == 4 + calls, "position in a handler");
  check(read_int(file, rank) == 1000 + rank, "what was written before the handler was called");
  write_int(file, 2 * ranks + 100 * rank + calls, 100 * rank + calls);
  check(read_back(calls) == 100 * rank + calls, "what the handler wrote itself");
  calls++;
  check(MPI_File_seek(file, 4 + calls, MPI_SEEK_SET) == MPI_SUCCESS, "seek in a handler");
}

static void use_another(MPI_File* failed, int* code, ...) {
  MPI_File other;
  char name[100];
  snprintf(name, sizeof name, "handler-%d", rank);
  check(MPI_File_open(MPI_COMM_SELF, path_of(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &other) ==
            MPI_SUCCESS,
        "open in a handler");
  write_int(other, calls, calls);
  check(read_int(other, calls) == calls, "another file in a handler");
  check(MPI_File_close(&other) == MPI_SUCCESS, "close in a handler");
  use_file(failed, code);
}

/* Not by its code: MPICH 5 returns MPI_SUCCESS where a handler has been called. */
static void failed(int code, const char* what) {
  static int expected;
  (void)code;
  expected++;
  check(calls == expected, what);
  check(position() == 4 + calls, "position after the handler");
  check(read_back(calls - 1) == 100 * rank + calls - 1, "what the handler wrote");
}

static void make_mistakes(void) {
  int value = 0;
  failed(MPI_File_write_at(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE), "negative count");
  failed(MPI_File_read_at(file, 0, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), "null datatype");
  failed(MPI_File_seek(file, -1, MPI_SEEK_SET), "seek before the start");
}

static void set_handler(MPI_File of, MPI_File_errhandler_function* function) {
  MPI_Errhandler handler;
  check(MPI_File_create_errhandler(function, &handler) == MPI_SUCCESS, "create_errhandler");
  check(MPI_File_set_errhandler(of, handler) == MPI_SUCCESS, "set_errhandler");
  MPI_Errhandler_free(&handler);
}

static void make_mistakes_without_file(void) {
  MPI_File none;
  set_handler(MPI_FILE_NULL, &use_another);
  failed(MPI_File_open(MPI_COMM_SELF, path_of("none"), MPI_MODE_RDONLY, MPI_INFO_NULL, &none), "open");
  failed(MPI_File_delete(path_of("none"), MPI_INFO_NULL), "delete");
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  check(MPI_File_open(MPI_COMM_WORLD, path_of("data"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS,
        "open");
  write_int(file, rank, 1000 + rank);
  check(MPI_File_seek(file, 4, MPI_SEEK_SET) == MPI_SUCCESS, "seek");
  set_handler(file, &use_file);
  make_mistakes();
  set_handler(file, &use_another);
  make_mistakes();
  if (strcmp(argv[2], "null") == 0) make_mistakes_without_file();
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  return conclude();
}
