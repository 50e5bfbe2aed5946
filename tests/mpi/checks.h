/* What the programs share that check themselves: they print nothing unless something is wrong, and exit with
 * 1 where something was on any rank. Included once per program; only `check` is for several threads. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, failures;
static const char* directory; /* of the files that path_of names; the program sets it */

static inline void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "%s: rank %d: %s\n", strrchr("/" __BASE_FILE__, '/') + 1, rank, what);
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* The exit code; MPI is finalized. */
static inline int conclude(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}

/* Good until the next call. */
static inline const char* path_of(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static inline void make_empty(const char* name) { fclose(fopen(path_of(name), "w")); }

/* An empty file "target" that is "hard" and "symbolic" too. */
static inline void make_linked_names(void) {
  char target[4096];
  make_empty("target");
  snprintf(target, sizeof target, "%s", path_of("target"));
  check(link(target, path_of("hard")) == 0, "link");
  check(symlink("target", path_of("symbolic")) == 0, "symlink");
}

static inline void write_int(MPI_File file, int index, int value) {
  check(MPI_File_write_at(file, 4 * index, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at");
}

static inline int read_int(MPI_File file, int index) {
  int value = -1;
  MPI_File_read_at(file, 4 * index, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  return value;
}

/* Whether pmio says that it logs the file. */
static inline int is_logged(MPI_File file) {
  MPI_Info info;
  char mode[16] = "";
  int found = 0;
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "pmio_mode", sizeof mode - 1, mode, &found);
  MPI_Info_free(&info);
  return found && strcmp(mode, "log") == 0;
}

static inline int count_hosts(void) {
  char name[MPI_MAX_PROCESSOR_NAME] = {0}, *names = calloc((size_t)ranks, sizeof name);
  int length = 0, hosts = 0;
  MPI_Get_processor_name(name, &length);
  MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) {
    int seen = 0;
    for (int j = 0; j < i; ++j) seen |= strcmp(names + i * sizeof name, names + j * sizeof name) == 0;
    hosts += !seen;
  }
  free(names);
  return hosts;
}
