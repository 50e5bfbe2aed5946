/* Collective calls in which one rank has an error: it is returned there, the other ranks' calls are as if
 * that rank had given nothing, and all go on together. Checks itself; the file that stays in DIRECTORY is the
 * same in every run. Usage: refused DIRECTORY [right]; right: that rank makes a right call without bytes, for
 * the libraries let the others wait. */
#include <mpi.h>
#include <string.h>

#include "checks.h"

enum { WRONG_COUNT, WRONG_DATATYPE, WRONG_BUFFER, WRONG_ETYPE, WRONGS, INTS = 100 };

static MPI_File file;
static int right; /* makes no wrong call */

struct call {
  const void* buffer;
  int count;
  MPI_Datatype type;
};

static struct call wrong_call(int wrong, const int* values) {
  struct call call = {values, right ? 0 : INTS, MPI_INT};
  if (right) return call;
  if (wrong == WRONG_COUNT) call.count = -1;
  if (wrong == WRONG_DATATYPE) call.type = MPI_DATATYPE_NULL;
  if (wrong == WRONG_BUFFER) call.buffer = NULL;
  if (wrong == WRONG_ETYPE) {
    call.type = MPI_BYTE;
    call.count = 3;
  }
  return call;
}

static void returns(int code, int is_wrong, const char* what) {
  check((code != MPI_SUCCESS) == is_wrong, what);
}

/* Each rank but the one writes INTS in its turn. */
static void write_in_order(int wrong, int wrong_rank) {
  int values[INTS];
  for (int i = 0; i < INTS; i++) values[i] = 1000 * rank + 10 * wrong_rank + wrong;
  struct call call = {values, INTS, MPI_INT};
  if (rank == wrong_rank) call = wrong_call(wrong, values);
  returns(MPI_File_write_ordered(file, call.buffer, call.count, call.type, MPI_STATUS_IGNORE),
          rank == wrong_rank && !right, "write_ordered");
}

/* Where the pointer is: behind what all but one have written. */
static void pointer_is(MPI_Offset etypes) {
  MPI_Offset position = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &position);
  check(position == etypes, "the shared pointer");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void ordered(void) {
  MPI_Offset written = 0;
  for (int wrong = 0; wrong < WRONGS; wrong++) {
    for (int wrong_rank = -1; wrong_rank < ranks; wrong_rank++) {
      write_in_order(wrong, wrong_rank);
      written += (MPI_Offset)INTS * (ranks - (wrong_rank >= 0 ? 1 : 0));
      pointer_is(written);
    }
  }
}

/* Behind that, each rank in a place of its own, in calls that the others need not wait in. */
static void at_all(void) {
  int values[INTS];
  MPI_Offset begin = 0;
  MPI_File_get_position_shared(file, &begin);
  for (int wrong = 0; wrong < WRONGS; wrong++) {
    const int wrong_rank = wrong % ranks;
    for (int i = 0; i < INTS; i++) values[i] = 7000 + 100 * rank + wrong;
    struct call call = {values, INTS, MPI_INT};
    if (rank == wrong_rank) call = wrong_call(wrong, values);
    const MPI_Offset offset = begin + (MPI_Offset)INTS * (wrong * ranks + rank);
    returns(MPI_File_write_at_all(file, offset, call.buffer, call.count, call.type, MPI_STATUS_IGNORE),
            rank == wrong_rank && !right, "write_at_all");
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  directory = argv[1];
  right = argc > 2 && strcmp(argv[2], "right") == 0;
  check(MPI_File_open(MPI_COMM_WORLD, path_of("target"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS,
        "open");
  check(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  ordered();
  at_all();
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  return conclude();
}
