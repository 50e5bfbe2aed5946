/* The first things that must hold, on any number of ranks: bytes written through a strided view and
 * independently are what every rank, and afterwards any reader, finds. Run with and without pmio; prints
 * nothing unless something is wrong. Usage: smoke FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { BLOCK = 100, BLOCKS = 50, CALLS = 4 };

static unsigned char byte_at(long long offset) { return (unsigned char)(offset * 7 + offset / 251); }

/* Rank r has every ranks-th block of BLOCK bytes; each call writes BLOCKS of them. */
static long long offset_of(int owner, long long i) { return (i / BLOCK * ranks + owner) * BLOCK + i % BLOCK; }

static void set_strided_view(MPI_File file) {
  MPI_Datatype block, column;
  MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * ranks, &column);
  MPI_Type_commit(&column);
  check(MPI_File_set_view(file, (MPI_Offset)BLOCK * rank, MPI_BYTE, column, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        "set_view");
  MPI_Type_free(&block);
  MPI_Type_free(&column);
}

static void expect_count(MPI_Status* status, MPI_Datatype type, int expected, const char* what) {
  int count = -1;
  MPI_Get_count(status, type, &count);
  if (count != expected) fprintf(stderr, "smoke: count %d, expected %d\n", count, expected);
  check(count == expected, what);
}

static void write_strided(MPI_File file) {
  const int bytes = BLOCK * BLOCKS;
  unsigned char* data = malloc((size_t)bytes);
  for (int call = 0; call < CALLS; ++call) {
    MPI_Status status;
    for (int i = 0; i < bytes; ++i) data[i] = byte_at(offset_of(rank, (long long)call * bytes + i));
    check(MPI_File_write_all(file, data, bytes, MPI_BYTE, &status) == MPI_SUCCESS, "write_all");
    expect_count(&status, MPI_BYTE, bytes, "count of write_all");
  }
  MPI_Offset position = -1;
  MPI_File_get_position(file, &position);
  check(position == (MPI_Offset)bytes * CALLS, "get_position");
  free(data);
}

/* Behind the strided part: an int per rank, written by the rank after it. */
static void write_independent(MPI_File file, MPI_Offset base) {
  const int owner = (rank + 1) % ranks, value = 1000 + owner;
  MPI_Status status;
  check(MPI_File_write_at(file, base + 4 * owner, &value, 1, MPI_INT, &status) == MPI_SUCCESS, "write_at");
  expect_count(&status, MPI_INT, 1, "count of write_at");
}

static void read_all_of_it(MPI_File file, MPI_Offset base) {
  unsigned char* data = malloc((size_t)base);
  MPI_Status status;
  check(MPI_File_read_at(file, 0, data, (int)base, MPI_BYTE, &status) == MPI_SUCCESS, "read_at");
  expect_count(&status, MPI_BYTE, (int)base, "count of read_at");
  int same = 1;
  for (long long i = 0; i < base; ++i) same = same && data[i] == byte_at(i);
  check(same, "bytes of the strided part");
  for (int i = 0; i < ranks; ++i) {
    int value = 0;
    MPI_File_read_at_all(file, base + 4 * i, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    check(value == 1000 + i, "an int of another rank");
  }
  check(MPI_File_read_at(file, base, data, 4 * ranks + 10, MPI_BYTE, &status) == MPI_SUCCESS,
        "read over the end");
  expect_count(&status, MPI_BYTE, 4 * ranks, "short count at the end");
  free(data);
}

static void use_requests(MPI_File file, MPI_Offset at) {
  MPI_Request request;
  MPI_Status status;
  int value = rank, back = -1, done = 0;
  check(MPI_File_iwrite_at(file, at + 4 * rank, &value, 1, MPI_INT, &request) == MPI_SUCCESS, "iwrite_at");
  MPI_Wait(&request, &status);
  expect_count(&status, MPI_INT, 1, "count of iwrite_at");
  check(MPI_File_iread_at(file, at + 4 * rank, &back, 1, MPI_INT, &request) == MPI_SUCCESS, "iread_at");
  while (!done) MPI_Test(&request, &done, &status);
  expect_count(&status, MPI_INT, 1, "count of iread_at");
  check(back == rank, "value of iread_at");
  MPI_File_write_at_all_begin(file, at + 4 * rank, &value, 1, MPI_INT);
  check(MPI_File_write_at_all_end(file, &value, &status) == MPI_SUCCESS, "split collective");
  expect_count(&status, MPI_INT, 1, "count of write_at_all_end");
}

static void use_shared_pointer(MPI_File file, MPI_Offset at) {
  MPI_Offset position = -1;
  int value = rank, back = -1;
  MPI_File_set_view(file, at, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  check(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_ordered");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &position);
  check(position == ranks, "get_position_shared");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
  check(MPI_File_read_ordered(file, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read_ordered");
  check(back == rank, "value of read_ordered");
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
}

static void sizes(MPI_File file, MPI_Offset keep) {
  MPI_Offset size = -1;
  check(MPI_File_set_size(file, keep) == MPI_SUCCESS, "set_size");
  MPI_File_get_size(file, &size);
  check(size == keep, "get_size after set_size");
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
}

/* A wrong call gives an error, and harms nothing. Not all libraries see those without a buffer, and none sees
 * the wrong end of a split collective. */
static void mistakes(MPI_File file, MPI_Offset end) {
  MPI_Offset size = -1;
  int value = 0;
  check(MPI_File_write_at(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS, "negative count");
  check(MPI_File_write_at(file, 0, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "null type");
  check(MPI_File_write_at(file, end, NULL, 0, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write of nothing");
  check(MPI_File_read_at(file, 0, NULL, 0, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read of nothing");
  (void)MPI_File_write_at(file, end, NULL, 1, MPI_INT, MPI_STATUS_IGNORE);
  (void)MPI_File_read_at(file, 0, NULL, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_get_size(file, &size);
  check(size == end, "size after writes without a buffer");
  check(MPI_File_read_at_all_begin(file, 0, &value, 1, MPI_INT) == MPI_SUCCESS, "begin");
  check(MPI_File_write_at_all_begin(file, 0, &value, 1, MPI_INT) != MPI_SUCCESS, "begin before the end");
  check(MPI_File_write_all_end(file, &value, MPI_STATUS_IGNORE) == MPI_SUCCESS, "another end");
}

static void compare_with_posix(const char* name, MPI_Offset base) {
  FILE* file = fopen(name, "rb");
  check(file != NULL, "fopen");
  if (file == NULL) return;
  int same = 1, value;
  for (long long i = 0; i < base; ++i) same = same && fgetc(file) == byte_at(i);
  check(same, "bytes of the file after close");
  for (int i = 0; i < ranks; ++i) {
    check(fread(&value, sizeof value, 1, file) == 1 && value == 1000 + i, "an int of the file after close");
  }
  check(fgetc(file) == EOF, "size of the file after close");
  fclose(file);
}

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Offset size = -1;
  begin(&argc, &argv);
  const MPI_Offset base = (MPI_Offset)BLOCK * BLOCKS * CALLS * ranks, end = base + 4 * ranks;

  if (rank == 0) remove(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
            MPI_SUCCESS,
        "open");
  set_strided_view(file);
  write_strided(file);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  write_independent(file, base);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_size(file, &size);
  check(size == end, "get_size");
  read_all_of_it(file, base);
  MPI_Barrier(MPI_COMM_WORLD);
  use_requests(file, end);
  use_shared_pointer(file, end + 4 * ranks);
  sizes(file, end);
  mistakes(file, end);
  check(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL, "close");

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    compare_with_posix(argv[1], base);
    check(MPI_File_delete(argv[1], MPI_INFO_NULL) == MPI_SUCCESS, "delete");
  }
  return conclude();
}
