/* What the clients share: each runs its cases in the current directory, one file per case, reads back what it
 * wrote, and leaves in the file `report`, by rank 0, for clients.py:
 *
 *   case FILE            begins a case
 *   stored BYTES         what the ranks together wrote into it, metadata left out
 *   hint KEY=VALUE       what the file's info has, as the client's library gives it out
 */
#ifndef CLIENT_H
#define CLIENT_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORD_BYTES = 1312, RECORD_FLOATS = RECORD_BYTES / sizeof(float) };

static int rank, ranks;
static FILE* report;

static inline void must(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void start(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) report = fopen("report", "w");
  must(rank != 0 || report != NULL, "report");
}

static inline void finish(void) {
  must(rank != 0 || fclose(report) == 0, "report");
  MPI_Finalize();
}

static inline void say_case(const char* file) {
  if (rank == 0) fprintf(report, "case %s\n", file);
}

static inline void say_stored(long long bytes) {
  if (rank == 0) fprintf(report, "stored %lld\n", bytes);
}

static inline void say_hints(MPI_Info info) {
  int keys = 0, found;
  char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
  if (rank != 0) return;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    fprintf(report, "hint %s=%s\n", key, value);
  }
}

/* Element i of record number `record`, exact in a float. */
static inline float element(int record, int i) { return (float)(record * 1000 % 7919 + i); }

static inline void fill_record(float* data, int record) {
  for (int i = 0; i < RECORD_FLOATS; ++i) data[i] = element(record, i);
}

static inline void check_record(const float* data, int record, const char* what) {
  for (int i = 0; i < RECORD_FLOATS; ++i) must(data[i] == element(record, i), what);
}

static inline void* allocate(size_t bytes) {
  void* memory = malloc(bytes);
  must(memory != NULL, "out of memory");
  return memory;
}
#endif
