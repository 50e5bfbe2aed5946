/* transfers.F90 in C, with the large-count forms, and what else the other C tests leave out.
 * Usage: transfers FILE RECORD. The calls are in transfer_calls.h, which ../transfer_calls.py writes from the
 * table of MPI functions. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 50 };
static int rank, ranks;
static FILE* record;

static void must(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "transfers: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void say(const char* what, long long number) { fprintf(record, "%s %lld\n", what, number); }

static void say_result(const char* what, int code, MPI_Status* status) {
  int count = -1;
  must(code == MPI_SUCCESS, what);
  MPI_Get_count(status, MPI_INT, &count);
  say(what, count);
}

static MPI_Offset shared_place(int step) { return (MPI_Offset)step * ranks * N; }
static MPI_Offset own_place(int step) { return shared_place(step) + (MPI_Offset)rank * N; }

static void fill(int* values, int step) {
  for (int i = 0; i < N; ++i) values[i] = 1000000 * step + 1000 * rank + i;
}

static void compare(const int* values, int step, const char* what) {
  int expected[N];
  fill(expected, step);
  must(memcmp(values, expected, sizeof expected) == 0, what);
}

#include "transfer_calls.h"

static void facts(MPI_File file) {
  MPI_Group group;
  MPI_Info info;
  MPI_Aint extent = -1;
  MPI_Offset size = -1;
  int members = -1;
  MPI_File_get_group(file, &group);
  MPI_Group_size(group, &members);
  MPI_Group_free(&group);
  say("ranks in the group", members);
  MPI_Info_create(&info);
  must(MPI_File_set_info(file, info) == MPI_SUCCESS, "set_info");
  MPI_Info_free(&info);
  MPI_File_get_type_extent(file, MPI_DOUBLE, &extent);
  say("type extent", extent);
#if MPI_VERSION >= 4
  MPI_Count large = -1;
  MPI_File_get_type_extent_c(file, MPI_DOUBLE, &large);
  must(large == extent, "get_type_extent_c");
#endif
  /* While the file is empty: Open MPI overwrites what is there. */
  must(MPI_File_preallocate(file, 400) == MPI_SUCCESS, "preallocate");
  MPI_File_get_size(file, &size);
  say("size", size);
}

int main(int argc, char** argv) {
  MPI_File file;
  char name[4096];
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  snprintf(name, sizeof name, "%s.%d", argv[2], rank);
  record = fopen(name, "w");
  must(record != NULL, "record");
  must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
           MPI_SUCCESS,
       "open");
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  facts(file);
  run_all(file);
  must(MPI_File_close(&file) == MPI_SUCCESS, "close");
  fclose(record);
  MPI_Finalize();
  return 0;
}
