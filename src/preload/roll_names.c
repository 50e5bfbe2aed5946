#include "preload/roll_names.h"

#include <stddef.h>

static pmio_function publish, look_up; /* NULL: there are no names */
static pmio_word no_info;
static int has_failed;

/* Instead of MPI_ERRORS_RETURN, for which libraries of the same ABI have different numbers. With a handler of
 * the program's, MPICH returns a success. */
static void note_failure(void* comm, int* code, ...) {
  (void)comm;
  (void)code;
  has_failed = 1;
}

static int publish_value(const char* name, const char* value) {
  has_failed = 0;
  return publish != NULL && (int)publish((pmio_word)name, no_info, (pmio_word)value, 0, 0, 0) == 0 &&
         !has_failed;
}

static int look_up_value(const char* name, char* value) {
  has_failed = 0;
  return look_up != NULL && (int)look_up((pmio_word)name, no_info, (pmio_word)value, 0, 0, 0) == 0 &&
         !has_failed;
}

static const struct pmio_board kBoard = {&publish_value, &look_up_value};

static pmio_function function_of(const struct pmio_library* library, const char* name) {
  return (pmio_function)library->find(name);
}

/* With errors of names noted: by default they end the job. They go to either communicator's handler. */
static enum pmio_roll call_noting(const struct pmio_library* library, int ranks) {
  const pmio_function create = function_of(library, "PMPI_Comm_create_errhandler");
  const pmio_function set = function_of(library, "PMPI_Comm_set_errhandler");
  const pmio_function told = function_of(library, "PMPI_Comm_get_errhandler");
  const pmio_function end = function_of(library, "PMPI_Errhandler_free");
  const pmio_word comms[] = {library->world, library->self};
  pmio_word before[] = {0, 0}, noting = 0; /* as wide as any family's */
  int is_known[] = {0, 0};
  if (create == NULL || set == NULL || told == NULL || end == NULL || library->self == 0 ||
      library->no_info == 0 || (int)create((pmio_word)&note_failure, (pmio_word)&noting, 0, 0, 0, 0) != 0) {
    publish = look_up = NULL;
    return pmio_roll_call(&kBoard, ranks);
  }
  for (int i = 0; i < 2; ++i) {
    is_known[i] = (int)told(comms[i], (pmio_word)&before[i], 0, 0, 0, 0) == 0;
    if (is_known[i]) set(comms[i], noting, 0, 0, 0, 0);
  }
  const enum pmio_roll roll = pmio_roll_call(&kBoard, ranks);
  for (int i = 0; i < 2; ++i) {
    if (is_known[i]) set(comms[i], before[i], 0, 0, 0, 0);
  }
  end((pmio_word)&noting, 0, 0, 0, 0, 0);
  return roll;
}

enum pmio_roll pmio_roll_by_names(const struct pmio_library* library) {
  const pmio_function size = function_of(library, "PMPI_Comm_size");
  int ranks = 0;
  if (size != NULL) size(library->world, (pmio_word)&ranks, 0, 0, 0, 0);
  publish = function_of(library, "PMPI_Publish_name");
  look_up = function_of(library, "PMPI_Lookup_name");
  no_info = library->no_info;
  return call_noting(library, ranks);
}
