/* Opens, writes, closes and deletes files again and again: what the process holds must not grow.
 * Usage: opens DIRECTORY TIMES */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 200 };

static int entries_of(const char* path) {
  int count = 0;
  DIR* directory = opendir(path);
  if (directory == NULL) return 0;
  while (readdir(directory) != NULL) count++;
  closedir(directory);
  return count;
}

static int mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int c; (c = fgetc(maps)) != EOF;) lines += c == '\n';
  fclose(maps);
  return lines;
}

struct held {
  int descriptors, mappings, threads, segments;
};

static struct held look(const char* logs) {
  char path[4096];
  struct held held = {entries_of("/proc/self/fd"), mappings(), entries_of("/proc/self/task"), 0};
  DIR* jobs = opendir(logs);
  for (struct dirent* job; jobs != NULL && (job = readdir(jobs)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", logs, job->d_name);
    if (job->d_name[0] == 'j') held.segments += entries_of(path);
  }
  if (jobs != NULL) closedir(jobs);
  return held;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* logs = getenv("PMIO_DIR");
  const int times = argc == 3 ? atoi(argv[2]) : 0;
  struct held before = {0}, after;
  for (int i = 0; i < times; i++) {
    char name[4096], record[100] = {0};
    snprintf(name, sizeof name, "%s/file-%d", argv[1], i);
    MPI_File file;
    failures += MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
                MPI_SUCCESS;
    failures +=
        MPI_File_write_at_all(file, rank * 100, record, 100, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    failures += MPI_File_close(&file) != MPI_SUCCESS;
    if (rank == 0) remove(name);
    if (i + 1 == WARM_UP) before = look(logs);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  after = look(logs);
  if (after.descriptors > before.descriptors || after.mappings > before.mappings + 8 ||
      after.threads > before.threads || after.segments > before.segments + 2) {
    printf("opens: descriptors %d to %d, mappings %d to %d, threads %d to %d, files of the log %d to %d\n",
           before.descriptors, after.descriptors, before.mappings, after.mappings, before.threads,
           after.threads, before.segments, after.segments);
    failures++;
  }
  if (failures) printf("opens: %d failures\n", failures);
  MPI_Finalize();
  return failures != 0;
}
