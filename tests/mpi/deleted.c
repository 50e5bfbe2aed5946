/* Files that are deleted while handles have them open: through these they are still read and written, and a
 * new file of the same name has nothing of theirs. Checks itself; the files that stay in DIRECTORY are the
 * same in every run. crash: the job dies with the deleted file open. Usage: deleted DIRECTORY [crash] */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "checks.h"

static MPI_File opened(MPI_Comm comm, const char* name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(comm, path_of(name), amode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
  return file;
}

static MPI_File created(MPI_Comm comm, const char* name) {
  return opened(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

static void close_file(MPI_File* file) { check(MPI_File_close(file) == MPI_SUCCESS, "close"); }

static void delete_file(const char* name) {
  check(MPI_File_delete(path_of(name), MPI_INFO_NULL) == MPI_SUCCESS, "delete");
  check(access(path_of(name), F_OK) != 0, "deleted");
}

/* Each rank writes the place-th int of its own. */
static void write_all_ranks(MPI_File file, int place, int value) {
  write_int(file, place * ranks + rank, value + rank);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void read_all_ranks(MPI_File file, int place, int value, const char* what) {
  for (int i = 0; i < ranks; i++) check(read_int(file, place * ranks + i) == value + i, what);
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Offset size_of(MPI_File file) {
  MPI_Offset size = -1;
  check(MPI_File_get_size(file, &size) == MPI_SUCCESS, "get_size");
  return size;
}

/* A file of the deleted one's name, before and after the deleted one is closed. */
static void use_new_file(const char* name, int value) {
  MPI_File file = created(MPI_COMM_WORLD, name);
  check(size_of(file) == 0, "size of the new file");
  MPI_Barrier(MPI_COMM_WORLD);
  write_all_ranks(file, 0, value);
  read_all_ranks(file, 0, value, "the new file");
  close_file(&file);
}

static void open_on_all_ranks(void) {
  MPI_File file = created(MPI_COMM_WORLD, "all");
  write_all_ranks(file, 0, 100);
  if (rank == 0) delete_file("all");
  MPI_Barrier(MPI_COMM_WORLD);
  read_all_ranks(file, 0, 100, "what was written before the file was deleted");
  write_all_ranks(file, 1, 200);
  read_all_ranks(file, 1, 200, "what was written after the file was deleted");
  check(size_of(file) == 8 * ranks, "size of the deleted file");
  MPI_Barrier(MPI_COMM_WORLD);
  use_new_file("all", 300);
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  read_all_ranks(file, 0, 100, "the first part of the deleted file");
  read_all_ranks(file, 1, 200, "the second part of the deleted file");
  if (rank == 0) delete_file("all");
  MPI_Barrier(MPI_COMM_WORLD);
  close_file(&file);
  use_new_file("all", 400);
}

/* Who deletes the file has it not open. */
static void open_on_another_rank(void) {
  const int owner = rank == ranks - 1;
  MPI_File file;
  if (owner) {
    file = created(MPI_COMM_SELF, "other");
    write_int(file, 0, 500);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) delete_file("other");
  MPI_Barrier(MPI_COMM_WORLD);
  if (owner) {
    check(read_int(file, 0) == 500, "what was written before another rank deleted the file");
    write_int(file, 1, 501);
    check(read_int(file, 1) == 501, "what was written after another rank deleted the file");
    close_file(&file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  use_new_file("other", 600);
}

/* One of two handles deletes the file on its close. */
static void deleted_on_close(void) {
  MPI_File kept = created(MPI_COMM_WORLD, "on close");
  MPI_File file = opened(MPI_COMM_WORLD, "on close", MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  write_all_ranks(kept, 0, 700);
  write_all_ranks(file, 1, 800);
  close_file(&file);
  check(access(path_of("on close"), F_OK) != 0, "deleted on close");
  read_all_ranks(kept, 0, 700, "what was written through the handle that stays");
  read_all_ranks(kept, 1, 800, "what was written through the handle that deleted the file");
  write_all_ranks(kept, 2, 900);
  read_all_ranks(kept, 2, 900, "what was written after the other handle's close");
  close_file(&kept);
  use_new_file("on close", 1000);
}

/* MPICH does not find a file again that was opened by a relative name: then it stays, and complete. */
static void deleted_from_elsewhere(void) {
  char before[4096];
  check(getcwd(before, sizeof before) != NULL && chdir(directory) == 0, "chdir");
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, "relative", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "open");
  check(chdir("/") == 0, "chdir elsewhere");
  write_all_ranks(file, 0, 1400);
  (void)MPI_File_close(&file);
  check(chdir(before) == 0, "chdir back");
}

/* With bytes for a file that is no more in its log, and a new file where it was. */
static void die(void) {
  MPI_File file = created(MPI_COMM_WORLD, "all");
  write_all_ranks(file, 0, 1100);
  if (rank == 0) delete_file("all");
  MPI_Barrier(MPI_COMM_WORLD);
  write_all_ranks(file, 1, 1200);
  use_new_file("all", 1300);
  MPI_Barrier(MPI_COMM_WORLD);
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  if (argc == 3) die();
  open_on_all_ranks();
  open_on_another_rank();
  deleted_on_close();
  deleted_from_elsewhere();
  return conclude();
}
