/* One file by several names and through several handles, and communicators that are gone when their file is
 * used. Checks itself; the files that stay in DIRECTORY are the same in every run. Usage: names DIRECTORY */
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks.h"

static MPI_File opened(MPI_Comm comm, const char* name) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "open");
  return file;
}

static void close_file(MPI_File* file) { check(MPI_File_close(file) == MPI_SUCCESS, "close"); }

/* What makes the writes of some handles on a file seen by others (MPI 4.1, 14.6.1). */
static void meet(MPI_File* files, int count) {
  for (int i = 0; i < count; i++) MPI_File_sync(files[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) MPI_File_sync(files[i]);
}

enum { NAMES = 5 };
static const char* const kNames[NAMES] = {"target", "hard", "symbolic", "sub/../target", "target"};

static void make_names(void) {
  if (rank == 0) {
    make_linked_names();
    check(mkdir(path_of("sub"), 0777) == 0, "mkdir");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The last of the names is relative to the directory that the process has changed to. */
static void several_names(void) {
  MPI_File files[NAMES];
  for (int i = 0; i + 1 < NAMES; i++) files[i] = opened(MPI_COMM_WORLD, path_of(kNames[i]));
  char before[4096];
  check(getcwd(before, sizeof before) != NULL && chdir(directory) == 0, "chdir");
  files[NAMES - 1] = opened(MPI_COMM_WORLD, kNames[NAMES - 1]);
  check(chdir(before) == 0, "chdir back");
  for (int round = 0; round < 3 * NAMES; round++) {
    write_int(files[round % NAMES], rank, round * 100 + rank);
    write_int(files[round % NAMES], ranks + round * ranks + rank, round);
    meet(files, NAMES);
    const int other = (rank + 1) % ranks;
    for (int i = 0; i < NAMES; i++)
      check(read_int(files[i], other) == round * 100 + other, "the last write, by another name");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < NAMES; i++) close_file(&files[i]);
}

/* Each rank has the file for itself, by a name of its own; neither knows of the other. */
static void names_of_ranks(void) {
  MPI_File file = opened(MPI_COMM_SELF, path_of(kNames[rank % 2]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 1000; i++) write_int(file, 1000 + i * ranks + rank, i * 3 + rank);
  meet(&file, 1);
  check(read_int(file, 1000 + 999 * ranks + (rank + 1) % ranks) == 999 * 3 + (rank + 1) % ranks,
        "what another rank wrote by another name");
  MPI_Barrier(MPI_COMM_WORLD);
  close_file(&file);
}

/* Everything collective on a file whose communicator is gone. */
static void use_without_communicator(MPI_File file, int place, int places) {
  int values[16], count = 0;
  MPI_Offset size = 0;
  MPI_Datatype strided;
  MPI_Status status;
  for (int i = 0; i < 16; i++) values[i] = 1000 * place + i;
  MPI_Type_create_resized(MPI_INT, 0, 4 * places, &strided);
  MPI_Type_commit(&strided);
  check(MPI_File_set_view(file, 4 * place, MPI_INT, strided, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "set_view");
  MPI_Type_free(&strided);
  check(MPI_File_write_all(file, values, 16, MPI_INT, &status) == MPI_SUCCESS, "write_all");
  MPI_Get_count(&status, MPI_INT, &count);
  check(count == 16, "count of write_all");
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  check(MPI_File_seek_shared(file, 16, MPI_SEEK_SET) == MPI_SUCCESS, "seek_shared");
  check(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "set_view back");
  check(MPI_File_write_at_all(file, 16 * places + place, values, 1, MPI_INT, &status) == MPI_SUCCESS,
        "write_at_all");
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  check(MPI_File_get_size(file, &size) == MPI_SUCCESS && size >= 16 * 4 * places, "get_size");
  check(MPI_File_set_size(file, 4 * 17 * places) == MPI_SUCCESS, "set_size");
  check(MPI_File_read_at_all(file, 0, values, 1, MPI_INT, &status) == MPI_SUCCESS && values[0] == 0,
        "read_at_all");
}

static void freed_communicators(void) {
  MPI_Comm copy, reversed, alone;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_File file = opened(copy, path_of("duplicated"));
  MPI_Comm_free(&copy);
  use_without_communicator(file, rank, ranks);
  close_file(&file);

  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  file = opened(reversed, path_of("reversed"));
  MPI_Comm_free(&reversed);
  use_without_communicator(file, ranks - 1 - rank, ranks);
  close_file(&file);

  char name[100];
  snprintf(name, sizeof name, "alone-%d", rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
  file = opened(alone, path_of(name));
  MPI_Comm_free(&alone);
  use_without_communicator(file, 0, 1);
  close_file(&file);
}

/* Deleting a link to a file, or one of its names, takes nothing from the file. */
static void deleted_links(void) {
  static const char* const kLinks[] = {"one more name", "link", "link that its close deletes"};
  char kept[4096];
  snprintf(kept, sizeof kept, "%s", path_of("kept"));
  if (rank == 0) {
    make_empty("kept");
    check(link(kept, path_of(kLinks[0])) == 0, "link");
    for (int i = 1; i < 3; i++) check(symlink("kept", path_of(kLinks[i])) == 0, "symlink");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file = opened(MPI_COMM_WORLD, kept);
  for (int i = 0; i < 2; i++) {
    write_int(file, i * ranks + rank, 10 * i + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) check(MPI_File_delete(path_of(kLinks[i]), MPI_INFO_NULL) == MPI_SUCCESS, "delete");
    MPI_Barrier(MPI_COMM_WORLD);
    check(read_int(file, i * ranks + rank) == 10 * i + rank, "what was written before a link was deleted");
  }
  close_file(&file);
  check(MPI_File_open(MPI_COMM_WORLD, path_of(kLinks[2]), MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "open to delete on close");
  write_int(file, 2 * ranks + rank, 20 + rank);
  close_file(&file);
}

/* A word before a colon says how to open the rest, or is a part of the name, or is an error: as the library
 * has it. */
static void prefixed_names(void) {
  static const char* const kPrefixed[] = {"ufs:a",     "UFS:b",   "t1:c",    "x:d",
                                          "nfs:sub/e", "t1:made", "ufs:made"};
  char before[4096];
  check(getcwd(before, sizeof before) != NULL && chdir(directory) == 0, "chdir");
  if (rank == 0) make_empty("t1:made");
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof kPrefixed / sizeof *kPrefixed; i++) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, kPrefixed[i], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS)
      continue;
    write_int(file, rank, 100 * (int)i + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    check(read_int(file, ranks - 1 - rank) == 100 * (int)i + ranks - 1 - rank, "by a name with a prefix");
    close_file(&file);
  }
  check(chdir(before) == 0, "chdir back");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  make_names();
  several_names();
  names_of_ranks();
  freed_communicators();
  deleted_links();
  prefixed_names();
  return conclude();
}
