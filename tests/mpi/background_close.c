/* Files that are closed by pmio_close=background, and what becomes of them at once: opened again, deleted,
 * renamed, replaced, cut. Checks itself; the files that stay in DIRECTORY are the same in every run. crash:
 * the job dies right behind the close, with the bytes in the log. fail: prints the class of the first error
 * that a call behind the close returns. Usage: background_close DIRECTORY [crash | fail] */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks.h"

enum { RECORD = 328, RECORDS = 2000, INTS = RECORD * RECORDS }; /* of each rank; 1,312 bytes a record */
static int values[INTS];

static MPI_File opened(MPI_Comm comm, const char* name, int amode, const char* key, const char* value) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_close", "background");
  if (key != NULL) MPI_Info_set(info, key, value);
  check(MPI_File_open(comm, path_of(name), amode, info, &file) == MPI_SUCCESS, "open");
  MPI_Info_free(&info);
  return file;
}

static MPI_File created(const char* name) {
  return opened(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, NULL, NULL);
}

static void close_file(MPI_File* file) { check(MPI_File_close(file) == MPI_SUCCESS, "close"); }

/* The ranks take turns, record by record. */
static MPI_Offset place_of(int record, int of_rank) {
  return (MPI_Offset)(record * ranks + of_rank) * RECORD * (MPI_Offset)sizeof(int);
}

static void write_records(MPI_File file, int value) {
  for (int i = 0; i < INTS; i++) values[i] = value * INTS + rank + i;
  for (int i = 0; i < RECORDS; i++)
    check(MPI_File_write_at(file, place_of(i, rank), values + i * RECORD, RECORD, MPI_INT,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at");
}

static void write_and_close(const char* name, int value) {
  MPI_File file = created(name);
  write_records(file, value);
  close_file(&file);
}

static int is_record(const int* found, int value, int record, int of_rank) {
  for (int i = 0; i < RECORD; i++)
    if (found[i] != value * INTS + of_rank + record * RECORD + i) return 0;
  return 1;
}

static void read_records(MPI_File file, int value, const char* what) {
  int found[RECORD];
  for (int i = 0; i < RECORDS; i += 7) {
    const int other = (rank + i) % ranks;
    check(MPI_File_read_at(file, place_of(i, other), found, RECORD, MPI_INT, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS &&
              is_record(found, value, i, other),
          what);
  }
}

/* Without MPI. */
static void check_complete(const char* name, int value, const char* what) {
  const int fd = open(path_of(name), O_RDONLY);
  int found[RECORD], right = fd >= 0;
  for (int i = 0; i < RECORDS && right; i++)
    for (int other = 0; other < ranks; other++)
      right = right && pread(fd, found, sizeof found, place_of(i, other)) == sizeof found &&
              is_record(found, value, i, other);
  check(right, what);
  if (fd >= 0) close(fd);
}

static void delete_file(const char* name) {
  check(MPI_File_delete(path_of(name), MPI_INFO_NULL) == MPI_SUCCESS, "delete");
}

static void rename_file(const char* from, const char* to) {
  char old[4096];
  snprintf(old, sizeof old, "%s", path_of(from));
  check(rename(old, path_of(to)) == 0, "rename");
}

/* By all ranks, by one that reads what the others wrote, and by a handle that is handed on. */
static void opened_again(void) {
  for (int value = 1; value <= 3; value++) {
    write_and_close("again", value);
    MPI_File file = opened(MPI_COMM_WORLD, "again", MPI_MODE_RDWR, NULL, NULL);
    check_complete("again", value, "complete when it is opened again");
    read_records(file, value, "read when it is opened again");
    close_file(&file);
  }
  for (int value = 4; value <= 6; value++) {
    write_and_close("again", value);
    if (rank == ranks - 1) {
      MPI_File file = opened(MPI_COMM_SELF, "again", MPI_MODE_RDONLY, value == 6 ? "pmio_mode" : NULL, "off");
      check_complete("again", value, "complete when one rank opens it again");
      read_records(file, value, "read when one rank opens it again");
      close_file(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void synced_and_cut(void) {
  write_and_close("cut", 10);
  MPI_File file = created("cut");
  MPI_Offset size = 0;
  check(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == place_of(RECORDS, 0), "size");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
  write_int(file, rank, 77);
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  close_file(&file);
  write_and_close("appended", 11);
  file = opened(MPI_COMM_WORLD, "appended", MPI_MODE_WRONLY | MPI_MODE_APPEND, NULL, NULL);
  MPI_Offset end = 0;
  check(MPI_File_get_position(file, &end) == MPI_SUCCESS && end == place_of(RECORDS, 0), "append");
  close_file(&file);
}

static void deleted_and_replaced(void) {
  write_and_close("gone", 20);
  if (rank == 0) delete_file("gone");
  MPI_Barrier(MPI_COMM_WORLD);
  write_and_close("gone", 21);
  if (rank == 0) check(unlink(path_of("gone")) == 0, "unlink");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file = opened(MPI_COMM_WORLD, "gone", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, NULL, NULL);
  write_int(file, rank, 78);
  close_file(&file);
  write_and_close("newest", 22);
  if (rank == 0) rename_file("newest", "older");
  MPI_Barrier(MPI_COMM_WORLD);
  write_and_close("newest", 23);
  if (rank == 0) rename_file("newest", "older");
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened(MPI_COMM_WORLD, "older", MPI_MODE_RDONLY, NULL, NULL);
  check_complete("older", 23, "complete under its new name");
  read_records(file, 23, "read under its new name");
  close_file(&file);
}

/* One handle of two, and one that deletes its file. */
static void other_handles(void) {
  MPI_File kept = created("two"), file = created("two");
  write_records(file, 30);
  close_file(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  read_records(kept, 30, "read by another handle");
  close_file(&kept);
  file = opened(MPI_COMM_WORLD, "temporary", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, NULL,
                NULL);
  write_records(file, 31);
  close_file(&file);
  check(access(path_of("temporary"), F_OK) != 0, "deleted on close");
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened(MPI_COMM_WORLD, "atomic", MPI_MODE_CREATE | MPI_MODE_RDWR, NULL, NULL);
  write_records(file, 32);
  check(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS, "set_atomicity");
  close_file(&file);
  check_complete("atomic", 32, "a file that was handed on is complete when it is closed");
}

/* More than may lag at once. */
static void checkpoints(void) {
  for (int i = 0; i < 12; i++) {
    char name[32];
    snprintf(name, sizeof name, "checkpoint-%d", i);
    write_and_close(name, 40 + i);
  }
}

static void fail(void) {
  write_and_close("failing", 50);
  MPI_File file = created("failing");
  read_records(file, 50, "read from the log");
  int code = MPI_File_sync(file), class = 0;
  if (code == MPI_SUCCESS) code = MPI_File_close(&file);
  MPI_Error_class(code, &class);
  printf("class: %s\n", class == MPI_ERR_NO_SPACE ? "no space" : class == MPI_ERR_QUOTA ? "quota" : "other");
  failures = 0; /* of the reads, which tell of the error too */
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  if (argc == 3 && strcmp(argv[2], "fail") == 0) {
    fail();
    return conclude();
  }
  if (argc == 3) {
    write_and_close("crashed", 60);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
  }
  opened_again();
  synced_and_cut();
  deleted_and_replaced();
  other_handles();
  checkpoints();
  return conclude();
}
