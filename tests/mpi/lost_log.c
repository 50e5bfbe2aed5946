/* Writes and reads, and in the middle one rank removes the job's log directory under LOGS, if that is given:
 * what was logged must be read by the other ranks, and all that is written come into the files.
 * Usage: lost_log DIRECTORY [LOGS directory|files] */
#include <dirent.h>

#include "checks.h"

enum { RECORD = 1000, RECORDS = 200, BLOCK = 5000 };

static void fill(char* record, int bytes, int number) {
  for (int i = 0; i < bytes; i++) record[i] = (char)('a' + (number * 7 + i) % 26);
}

/* Everything in a directory. */
static void remove_files(const char* path) {
  DIR* stream = opendir(path);
  if (stream == NULL) return;
  for (const struct dirent* entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
    char name[8192];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlink(name);
  }
  closedir(stream);
}

/* And the directory itself; the job may make a file meanwhile. */
static void remove_all(const char* path, int itself) {
  int gone = 0;
  for (int tries = 0; !gone && tries < 1000; tries++) {
    remove_files(path);
    gone = !itself || rmdir(path) == 0;
  }
  check(gone, "rmdir");
}

static void remove_log(const char* logs, int itself) {
  DIR* stream = opendir(logs);
  check(stream != NULL, "opendir");
  for (const struct dirent* entry = stream ? readdir(stream) : NULL; entry != NULL; entry = readdir(stream)) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", logs, entry->d_name);
    if (strncmp(entry->d_name, "job-", 4) == 0) remove_all(name, itself);
  }
  if (stream) closedir(stream);
}

/* Record by record, those of the ranks between each other. */
static void write_records(MPI_File file, int first) {
  char record[RECORD];
  for (int i = first; i < first + RECORDS; i++) {
    const int number = i * ranks + rank;
    fill(record, RECORD, number);
    check(MPI_File_write_at(file, (MPI_Offset)number * RECORD, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS,
          "write_at");
  }
}

/* Of another rank. */
static void read_records(MPI_File file, int first, int of) {
  char record[RECORD], expected[RECORD];
  for (int i = first; i < first + RECORDS; i++) {
    const int number = i * ranks + of;
    fill(expected, RECORD, number);
    memset(record, 0, sizeof record);
    check(MPI_File_read_at(file, (MPI_Offset)number * RECORD, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS,
          "read_at");
    if (memcmp(record, expected, RECORD) != 0) {
      check(0, "a record that another rank has written is wrong");
      return;
    }
  }
}

/* The same bytes, by one rank after the other, so that the last one's stay. */
static void write_in_turn(MPI_File file, MPI_Offset at, int round) {
  static char block[BLOCK];
  for (int turn = 0; turn < ranks; turn++) {
    if (turn == rank) {
      fill(block, BLOCK, round * 100 + rank);
      check(
          MPI_File_write_at(file, at + 100 * turn, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at in turn");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static MPI_File open_file(MPI_Comm comm, const char* name) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(comm, path_of(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
            MPI_SUCCESS,
        "open");
  return file;
}

static void write_collectively(MPI_File file, MPI_Offset at) {
  MPI_Datatype blocks;
  static char data[BLOCK];
  MPI_Type_vector(BLOCK / 50, 50, 50 * ranks, MPI_BYTE, &blocks);
  MPI_Type_commit(&blocks);
  fill(data, BLOCK, 1000 + rank);
  check(MPI_File_set_view(file, at + 50 * rank, MPI_BYTE, blocks, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "set_view");
  check(MPI_File_write_all(file, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  MPI_Type_free(&blocks);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  directory = argv[1];
  char own_name[32];
  snprintf(own_name, sizeof own_name, "own-%d", rank);
  const int next = (rank + 1) % ranks;
  const MPI_Offset turns = (MPI_Offset)2 * RECORDS * ranks * RECORD;
  MPI_File shared = open_file(MPI_COMM_WORLD, "shared"), own = open_file(MPI_COMM_SELF, own_name);
  write_records(shared, 0);
  write_records(own, 0);
  write_in_turn(shared, turns, 0);
  if (argc == 4 && rank == 0) remove_log(argv[2], strcmp(argv[3], "directory") == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  read_records(shared, 0, next);
  write_records(shared, RECORDS);
  write_records(own, RECORDS);
  write_in_turn(shared, turns + BLOCK / 2, 1);
  read_records(shared, RECORDS, next);
  read_records(own, 0, rank);
  write_collectively(shared, turns + 4 * BLOCK);
  MPI_File later = open_file(MPI_COMM_WORLD, "later");
  write_records(later, 0);
  check(MPI_File_sync(later) == MPI_SUCCESS, "sync of a later file");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_sync(later) == MPI_SUCCESS, "sync of a later file");
  read_records(later, 0, next);
  check(MPI_File_close(&later) == MPI_SUCCESS, "close of a later file");
  check(MPI_File_sync(shared) == MPI_SUCCESS, "sync");
  MPI_Offset size = 0;
  check(MPI_File_get_size(shared, &size) == MPI_SUCCESS && size == turns + (4 + ranks) * BLOCK, "get_size");
  write_in_turn(shared, 0, 2);
  check(MPI_File_close(&shared) == MPI_SUCCESS, "close");
  check(MPI_File_close(&own) == MPI_SUCCESS, "close of a file of its own");
  return conclude();
}
