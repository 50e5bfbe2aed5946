/* Buffers in a GPU's memory, which the CPU cannot touch: by a stand-in for CUDA's driver that is loaded after
 * the file is open. Writes and reads of all kinds of memory types come out as from host memory, which this
 * program uses where it is told to. Usage: device_buffers DIRECTORY LIBRARY [host] */
#include <dlfcn.h>
#include <mpi.h>

#include "checks.h"

enum { INTS = 5000, BIG = (9 << 20) / 4 };

static int host;
static void* library;
static void* (*device_memory)(size_t);
static int (*copy)(unsigned long long, unsigned long long, size_t);
static int (*synchronize)(void*);
static int (*push)(void*);
static int (*attribute)(void*, int, unsigned long long);

static void load(const char* path) {
  library = dlopen(path, RTLD_NOW);
  if (library == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  device_memory = (void* (*)(size_t))dlsym(library, "fake_device_memory");
  copy = (int (*)(unsigned long long, unsigned long long, size_t))dlsym(library, "cuMemcpy");
  synchronize = (int (*)(void*))dlsym(library, "cuStreamSynchronize");
  push = (int (*)(void*))dlsym(library, "cuCtxPushCurrent_v2");
  attribute = (int (*)(void*, int, unsigned long long))dlsym(library, "cuPointerGetAttribute");
}

static int* allocate(int ints) {
  return host ? malloc((size_t)ints * sizeof(int)) : device_memory((size_t)ints * sizeof(int));
}

static void move(void* to, const void* from, size_t bytes, void* device) {
  void* context = NULL;
  if (host) {
    memcpy(to, from, bytes);
    return;
  }
  attribute(&context, 1, (unsigned long long)device);
  push(context);
  check(copy((unsigned long long)to, (unsigned long long)from, bytes) == 0, "copy");
  check(synchronize(NULL) == 0, "synchronize");
}

static void fill(int* device, int ints, int first) {
  int* values = malloc((size_t)ints * sizeof(int));
  for (int i = 0; i < ints; i++) values[i] = first + i;
  move(device, values, (size_t)ints * sizeof(int), device);
  free(values);
}

/* Every step-th int from `begin` on is first, first + 1, ...; what lies between is -1. */
static void expect(int* device, int ints, int step, int first, int count, const char* what) {
  int* values = malloc((size_t)ints * sizeof(int));
  int wrong = 0;
  move(values, device, (size_t)ints * sizeof(int), device);
  for (int i = 0; i < ints; i++) {
    const int is_one = i % step == 0 && i / step < count;
    wrong += values[i] != (is_one ? first + i / step : -1);
  }
  check(wrong == 0, what);
  free(values);
}

static void erase(int* device, int ints) {
  int* values = malloc((size_t)ints * sizeof(int));
  for (int i = 0; i < ints; i++) values[i] = -1;
  move(device, values, (size_t)ints * sizeof(int), device);
  free(values);
}

static void several_types(MPI_File file) {
  int* buffer = allocate(INTS);
  MPI_Datatype spread, view;
  MPI_Status status;
  int count = -1;
  MPI_Type_vector(INTS / 5, 1, 5, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  MPI_Type_vector(1, 1, ranks, MPI_INT, &view);
  MPI_Type_create_resized(view, 0, 4 * ranks, &view);
  MPI_Type_commit(&view);
  fill(buffer, INTS, 100000 * rank);
  check(MPI_File_write_at_all(file, 4 * INTS * rank, buffer, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write");
  check(
      MPI_File_write_at(file, 4 * INTS * (ranks + rank), buffer, 1, spread, MPI_STATUS_IGNORE) == MPI_SUCCESS,
      "write of every fifth");
  erase(buffer, INTS);
  check(MPI_File_read_at_all(file, 4 * INTS * rank, buffer, INTS / 5, MPI_INT, &status) == MPI_SUCCESS,
        "read");
  MPI_Get_count(&status, MPI_INT, &count);
  check(count == INTS / 5, "count of a read");
  expect(buffer, INTS, 1, 100000 * rank, INTS / 5, "what is read");
  erase(buffer, INTS);
  check(MPI_File_read_at(file, 4 * INTS * rank, buffer, 1, spread, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "read to every fifth");
  expect(buffer, INTS, 5, 100000 * rank, INTS / 5, "what is read to every fifth");
  fill(buffer, INTS, 200000 * rank);
  check(MPI_File_set_view(file, 4 * (2 * INTS * ranks + rank), MPI_INT, view, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        "set_view");
  check(MPI_File_write_all(file, buffer, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write by a view");
  MPI_Type_free(&spread);
  MPI_Type_free(&view);
}

/* More than is in the CPU's memory at a time, read back behind the end of the file. */
static void large(MPI_File file) {
  int* buffer = allocate(BIG);
  MPI_Status status;
  int count = -1;
  fill(buffer, BIG, rank);
  check(MPI_File_write_at(file, (MPI_Offset)4 * BIG * rank, buffer, BIG, MPI_INT, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS,
        "large write");
  MPI_Barrier(MPI_COMM_WORLD);
  erase(buffer, BIG);
  check(
      MPI_File_read_at(file, (MPI_Offset)4 * BIG * ranks - 400, buffer, BIG, MPI_INT, &status) == MPI_SUCCESS,
      "read to the end");
  MPI_Get_count(&status, MPI_INT, &count);
  if (!host)
    check(count == 100, "count of a read to the end"); /* MPICH tells what was asked for, now and then */
  expect(buffer, BIG, 1, ranks - 1 + BIG - 100, 100, "what is read at the end");
}

static MPI_File opened(const char* name) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, path_of(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
            MPI_SUCCESS,
        "open");
  return file;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  host = argc > 3 && strcmp(argv[3], "host") == 0;
  MPI_File file = opened("types"), second = opened("large");
  write_int(file, 0, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  load(argv[2]);
  several_types(file);
  large(second);
  check(MPI_File_close(&file) == MPI_SUCCESS && MPI_File_close(&second) == MPI_SUCCESS, "close");
  return conclude();
}
