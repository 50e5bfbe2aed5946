/* Files as groups_hosts.c writes and reads them: what each byte is, and when it must be seen. Included once,
 * by that program. */
#pragma once

#include "checks.h"

enum { RECORD = 1312, RECORDS = 64 };

static const char* path;
static int must_log, logs_late, strict, last;
static MPI_Comm node; /* of the ranks on this one */
static unsigned char *block, *expected;

static const char* name_of(const char* kind, int number) {
  static char name[4096];
  snprintf(name, sizeof name, "%s-%s-%d", path, kind, number);
  return name;
}

static MPI_File opened_for(MPI_Comm comm, const char* name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(comm, name, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
  return file;
}

static MPI_File opened(MPI_Comm comm, const char* name) {
  return opened_for(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

static void close_it(MPI_File* file) {
  if (*file != MPI_FILE_NULL) check(MPI_File_close(file) == MPI_SUCCESS, "close");
}

static void remove_all(const char* kind, int numbers) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < numbers; ++i)
    check(MPI_File_delete(name_of(kind, i), MPI_INFO_NULL) == MPI_SUCCESS, "delete");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* From here on a communicator's ranks see what has been written. */
static void settle_among(MPI_Comm comm, MPI_File file) {
  if (!strict && file != MPI_FILE_NULL) check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  MPI_Barrier(comm);
  if (!strict && file != MPI_FILE_NULL) check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
}

static void settle(MPI_File file) { settle_among(MPI_COMM_WORLD, file); }

static unsigned char value(long long offset, int version) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 37 + 1);
}

static void fill(unsigned char* bytes, long long offset, int count, int version) {
  for (int i = 0; i < count; ++i) bytes[i] = value(offset + i, version);
}

static void write_block(MPI_File file, long long offset, int bytes, int version) {
  fill(block, offset, bytes, version);
  check(MPI_File_write_at(file, offset, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at");
}

static void expect_bytes(MPI_File file, long long offset, const unsigned char* bytes, int count,
                         const char* what) {
  MPI_Status status;
  int got = -1;
  memset(block, 0, (size_t)count);
  check(MPI_File_read_at(file, offset, block, count, MPI_BYTE, &status) == MPI_SUCCESS, what);
  MPI_Get_count(&status, MPI_BYTE, &got);
  check(got == count && memcmp(block, bytes, (size_t)count) == 0, what);
}

static void expect_block(MPI_File file, long long offset, int bytes, int version, const char* what) {
  unsigned char* wanted = malloc((size_t)bytes);
  fill(wanted, offset, bytes, version);
  expect_bytes(file, offset, wanted, bytes, what);
  free(wanted);
}

static void expect_log(MPI_File file, const char* what) {
  if (must_log) check(is_logged(file), what);
}

/* Every `of`th record is this rank's. */
static void set_strided_view(MPI_File file, int of, int which) {
  MPI_Datatype type;
  MPI_Type_vector(RECORDS, RECORD, RECORD * of, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  check(MPI_File_set_view(file, (MPI_Offset)which * RECORD, MPI_BYTE, type, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        "set_view");
  MPI_Type_free(&type);
}

static void fill_records(int owner) { fill(block, 0, RECORD * RECORDS, owner); }

static void expect_records(MPI_File file, int owner, const char* what) {
  expect_block(file, 0, RECORD * RECORDS, owner, what);
}

static void sync_both(MPI_File alone, MPI_File file) {
  if (strict) return;
  if (alone != MPI_FILE_NULL) check(MPI_File_sync(alone) == MPI_SUCCESS, "sync");
  if (file != MPI_FILE_NULL) check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
}

static void settle_both(MPI_File alone, MPI_File file) {
  sync_both(alone, file);
  MPI_Barrier(MPI_COMM_WORLD);
  sync_both(alone, file);
}
