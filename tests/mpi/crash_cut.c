/* What crash_writer does as `cut`: collective calls, some of them without data on a rank, and independent
 * ones in between, by ranks that seldom wait for each other. tests/cut.py knows the same from (seed, rank,
 * call). As `cut-handles` it also opens the file a second time every now and then, for calls without data. */
#include "crash_cut.h"

#include <stdlib.h>
#include <unistd.h>

#include "crash_writer.h"

enum { kCutCellBytes = 256, kCutCells = 4000, kMost = 24, kCallsPerBarrier = 50 };

struct cut_call {
  int collective, first, count;
};

static struct cut_call call_of(uint64_t seed, int rank, uint64_t number) {
  const uint64_t common = crash_mix(seed ^ crash_mix(number));
  const uint64_t own = crash_mix(common + 1 + (uint64_t)rank);
  struct cut_call call;
  call.collective = common % 3 != 0;
  call.count = own % 4 == 0 ? 0 : 1 + (int)((own >> 8) % kMost);
  call.first = (int)((own >> 32) % (uint64_t)(kCutCells - call.count + 1));
  return call;
}

static void write_call(MPI_File file, struct cut_call call, uint64_t number, int rank) {
  uint32_t buffer[kMost * kCutCellBytes / sizeof(uint32_t)];
  for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++)
    buffer[i] = (uint32_t)(number * 64 + (uint64_t)rank);
  const int bytes = call.count * kCutCellBytes;
  const int error = call.collective
                        ? MPI_File_write_at_all(file, call.first, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                        : MPI_File_write_at(file, call.first, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 3);
    _exit(3);
  }
}

static MPI_File open_file(const char* path) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  return file;
}

static void use_second_handle(const char* path, int rank) {
  const struct cut_call empty = {1, 0, 0};
  MPI_File file = open_file(path);
  for (int call = 0; call < 3; call++) write_call(file, empty, 0, rank);
  MPI_File_close(&file);
}

void crash_cut(struct crash_progress* mine, const char* path, uint64_t seed, uint64_t calls, int handles) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Datatype cell, strided;
  MPI_Type_contiguous(kCutCellBytes, MPI_BYTE, &cell);
  MPI_Type_create_resized(cell, 0, (MPI_Aint)kCutCellBytes * ranks, &strided);
  MPI_Type_commit(&cell);
  MPI_Type_commit(&strided);
  MPI_File file = open_file(path);
  MPI_File_set_view(file, (MPI_Offset)rank * kCutCellBytes, cell, strided, "native", MPI_INFO_NULL);
  for (uint64_t number = 1; number <= calls; number++) {
    mine->started = number;
    write_call(file, call_of(seed, rank, number), number, rank);
    mine->acknowledged = number;
    if (crash_mix(number * 64 + (uint64_t)rank) % 8 == 0) usleep(200);
    if (number % kCallsPerBarrier != 0) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    if (handles) use_second_handle(path, rank);
  }
  MPI_File_close(&file);
  mine->finished = 1;
  MPI_Type_free(&strided);
  MPI_Type_free(&cell);
}
