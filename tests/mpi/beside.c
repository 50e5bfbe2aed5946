/* A file that a handle logs to, and what else happens to it: another handle that does not log looks for its
 * end, somebody who is not of the job writes it, a view or a mode cannot be served from the log. Checks
 * itself. Usage: beside DIRECTORY [poor] [apart]; poor: the file system cannot make room; apart: the MPI
 * library makes none, which may rewrite what is there (MPICH) or make too much (Open MPI). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "checks.h"

static int poor, apart;

/* In the place of the C library's. */
int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (!poor) return (int)syscall(SYS_fallocate, fd, mode, offset, length);
  errno = EOPNOTSUPP;
  return -1;
}

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static MPI_File opened_by(MPI_Comm comm, const char* name, int amode, const char* mode) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", mode);
  check(MPI_File_open(comm, path_of(name), amode, info, &file) == MPI_SUCCESS, "open");
  MPI_Info_free(&info);
  return file;
}

static MPI_File opened(const char* name, int amode, const char* mode) {
  return opened_by(MPI_COMM_WORLD, name, amode, mode);
}

/* The MPI library looks for the end in the file, where nothing of it may be yet. */
static void ends_are_found(int by_atomicity) {
  char data[100] = "head";
  MPI_Offset position = -1;
  if (rank == 0) make_empty("ends");
  meet();
  MPI_File logged = opened("ends", MPI_MODE_RDWR, "auto");
  MPI_File other = opened("ends", MPI_MODE_RDWR, by_atomicity ? "auto" : "off");
  if (by_atomicity) MPI_File_set_atomicity(other, 1);
  if (rank == 0) MPI_File_write_at(logged, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
  meet();
  if (rank == ranks - 1) {
    check(MPI_File_seek(other, 0, MPI_SEEK_END) == MPI_SUCCESS, "seek");
    MPI_File_get_position(other, &position);
    check(position == sizeof data, "the end, by MPI_File_seek");
    MPI_File_write(other, "tail", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  meet();
  MPI_File_close(&other);
  if (rank == 0) MPI_File_write_at(logged, 200, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
  meet();
  other = opened("ends", MPI_MODE_WRONLY | MPI_MODE_APPEND, "off");
  MPI_File_get_position(other, &position);
  check(position == 300, "the end, by MPI_MODE_APPEND");
  if (rank == 0) MPI_File_write(other, "END!", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  meet();
  MPI_File_close(&other);
  MPI_File_close(&logged);
}

static void by_posix(const char* name, const char* text, int cut) {
  const int fd = open(path_of(name), O_WRONLY);
  check(fd >= 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text), "pwrite");
  if (cut) check(ftruncate(fd, (off_t)strlen(text)) == 0, "ftruncate");
  close(fd);
}

/* MPI_File_sync shows what others have written (MPI 4.1, 14.6.1). */
static void others_are_seen_after_a_sync(void) {
  char found[16] = "";
  MPI_Offset size = 0;
  if (rank == 0) make_empty("others");
  meet();
  MPI_File file = opened("others", MPI_MODE_RDWR, "auto");
  MPI_File_write_at(file, 8 * rank, "logged00", 8, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int cut = 0; cut < 2; cut++) {
    MPI_File_sync(file);
    meet();
    if (rank == 0) by_posix("others", cut ? "cut" : "others", cut);
    meet();
    MPI_File_sync(file);
    MPI_File_read_at(file, 0, found, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    check(memcmp(found, cut ? "cut" : "others00", cut ? 3 : 8) == 0, "what somebody else has written");
    MPI_File_get_size(file, &size);
    check(size == (cut ? 3 : 8 * ranks), "the size after that");
    meet();
  }
  if (rank == 0) MPI_File_write_at(file, 3, "more", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  meet();
  MPI_File_get_size(file, &size);
  check(size == 7, "the size after one more write");
  meet();
  MPI_File_close(&file);
}

/* For reading a view may show bytes more than once. Open MPI refuses that. */
static void views_overlap(void) {
#ifndef OPEN_MPI
  char found[25] = "";
  MPI_Datatype type;
  if (rank == 0) {
    make_empty("views");
    by_posix("views", "ABCDEFGHIJKLMNOP", 0);
  }
  meet();
  MPI_File file = opened("views", MPI_MODE_RDONLY, "auto");
  MPI_Type_indexed(3, (int[]){8, 8, 8}, (int[]){0, 4, 8}, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  check(MPI_File_set_view(file, 0, MPI_BYTE, rank == 0 ? type : MPI_BYTE, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        "set_view");
  MPI_File_read(file, found, rank == 0 ? 24 : 16, MPI_BYTE, MPI_STATUS_IGNORE);
  check(strcmp(found, rank == 0 ? "ABCDEFGHEFGHIJKLIJKLMNOP" : "ABCDEFGHIJKLMNOP") == 0, "bytes seen twice");
  MPI_Type_free(&type);
  MPI_File_close(&file);
#endif
}

/* An error, not a rank that waits for ever. Open MPI does not compare. */
static void ranks_differ_in_atomicity(void) {
#ifndef OPEN_MPI
  if (rank == 0) make_empty("atomic");
  meet();
  MPI_File file = opened("atomic", MPI_MODE_RDWR, "auto");
  const int refused = MPI_File_set_atomicity(file, rank == 0) != MPI_SUCCESS;
  int any = 0;
  MPI_Allreduce(&refused, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check(any, "different flags are an error");
  MPI_File_close(&file);
#endif
}

/* One rank makes room while another one writes, by a handle of its own: what is there stays. */
static void room_is_made_beside_writes(const char* name, const char* mode) {
  enum { BYTES = 1 << 20, PLACES = 16, ROUNDS = 20 };
  if (rank == 0) make_empty(name);
  meet();
  MPI_File file = opened_by(MPI_COMM_SELF, name, MPI_MODE_RDWR, rank == 0 ? mode : "auto");
  for (int round = 1; round <= ROUNDS; round++) {
    meet();
    if (rank == 0)
      check((apart ? MPI_File_set_size : MPI_File_preallocate)(file, BYTES) == MPI_SUCCESS, "preallocate");
    if (apart) meet();
    for (int i = 0; i < PLACES && rank == 1; i++) {
      write_int(file, BYTES / 4 / PLACES * i, round * 100 + i);
      check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
    }
    meet();
    for (int i = 0; i < PLACES && ranks > 1; i++)
      check(read_int(file, BYTES / 4 / PLACES * i) == round * 100 + i,
            "what was written beside a preallocate");
  }
  MPI_Offset size = 0;
  check(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == BYTES, "the size after a preallocate");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  meet();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  directory = argv[1];
  for (int i = 2; i < argc; i++) {
    poor |= strcmp(argv[i], "poor") == 0;
    apart |= strcmp(argv[i], "apart") == 0;
  }
  ends_are_found(0);
  ends_are_found(1);
  others_are_seen_after_a_sync();
  views_overlap();
  ranks_differ_in_atomicity();
  room_is_made_beside_writes("room", "auto");
  room_is_made_beside_writes("room, handed on", "off");
  return conclude();
}
