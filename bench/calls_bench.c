/* What a call costs that pmio does not speed up: one process, each call in a loop, in nanoseconds.
 *
 *   calls_bench FILE [--calls N]
 *
 * FILE is made, 64 MiB, by write(2), so that nothing of it is in a log, and is in the page cache. Output: one
 * line of JSON. bench/calls.py compares it plain and under pmio. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 64 << 20, LARGEST = 4096, BATCH = 100 };

struct bench {
  MPI_File file;
  MPI_Offset place; /* bytes */
  char buffer[LARGEST];
};

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "calls_bench: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void make_file(const char* path) {
  static char block[1 << 20];
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  must(fd >= 0, path);
  for (int i = 0; i < FILE_BYTES >> 20; i++) {
    memset(block, i, sizeof block);
    must(write(fd, block, sizeof block) == (ssize_t)sizeof block, "write");
  }
  close(fd);
}

static MPI_Offset next_place(struct bench* b, int bytes) {
  b->place += 5 * LARGEST;
  if (b->place + bytes > FILE_BYTES) b->place %= LARGEST;
  return b->place;
}

static void get_amode(struct bench* b) {
  int amode;
  MPI_File_get_amode(b->file, &amode);
}

static void get_atomicity(struct bench* b) {
  int flag;
  MPI_File_get_atomicity(b->file, &flag);
}

static void get_type_extent(struct bench* b) {
  MPI_Aint extent;
  MPI_File_get_type_extent(b->file, MPI_INT, &extent);
}

static void get_size(struct bench* b) {
  MPI_Offset size;
  MPI_File_get_size(b->file, &size);
}

static void read_8(struct bench* b) {
  MPI_File_read_at(b->file, next_place(b, 8), b->buffer, 8, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void read_4096(struct bench* b) {
  MPI_File_read_at(b->file, next_place(b, 4096), b->buffer, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void write_8(struct bench* b) {
  MPI_File_write_at(b->file, next_place(b, 8), b->buffer, 8, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median of batches that are short beside the time for which another program may get the processor. */
static double ns_per_call(struct bench* b, void (*call)(struct bench*), int calls) {
  const int batches = (calls + BATCH - 1) / BATCH;
  double* ns = malloc((size_t)batches * sizeof *ns);
  must(ns != NULL, "malloc");
  for (int i = 0; i < calls / 10; i++) call(b);
  for (int batch = 0; batch < batches; batch++) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < BATCH; i++) call(b);
    ns[batch] = (MPI_Wtime() - begin) * 1e9 / BATCH;
  }
  qsort(ns, (size_t)batches, sizeof *ns, by_size);
  const double median = ns[batches / 2];
  free(ns);
  return median;
}

/* One way to open the file, and the calls that are measured through it. */
struct scene {
  const char* name;
  int amode;
  const char* mode; /* pmio_mode, NULL: pmio's default */
  struct {
    const char* name;
    void (*call)(struct bench*);
  } calls[8];
};

static const struct scene kScenes[] = {
    {"read-only",
     MPI_MODE_RDONLY,
     NULL,
     {{"get_amode", get_amode},
      {"get_atomicity", get_atomicity},
      {"get_type_extent", get_type_extent},
      {"get_size", get_size},
      {"read 8 B", read_8},
      {"read 4 KiB", read_4096}}},
    {"never written",
     MPI_MODE_RDWR,
     NULL,
     {{"get_size", get_size}, {"read 8 B", read_8}, {"read 4 KiB", read_4096}}},
    {"pmio_mode=off",
     MPI_MODE_RDWR,
     "off",
     {{"get_amode", get_amode},
      {"get_size", get_size},
      {"read 8 B", read_8},
      {"read 4 KiB", read_4096},
      {"write 8 B", write_8}}},
};

static void run_scene(const struct scene* scene, const char* path, int calls, const char** separator) {
  struct bench b = {.place = 0};
  MPI_Info info = MPI_INFO_NULL;
  if (scene->mode != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "pmio_mode", scene->mode);
  }
  must(MPI_File_open(MPI_COMM_SELF, path, scene->amode, info, &b.file) == MPI_SUCCESS, "MPI_File_open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  for (int i = 0; scene->calls[i].name != NULL; i++) {
    printf("%s\"%s, %s\": %.1f", *separator, scene->name, scene->calls[i].name,
           ns_per_call(&b, scene->calls[i].call, calls));
    *separator = ", ";
  }
  MPI_File_close(&b.file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  must(argc == 2 || (argc == 4 && strcmp(argv[2], "--calls") == 0), "usage: calls_bench FILE [--calls N]");
  const int calls = argc == 4 ? atoi(argv[3]) : 20000;
  make_file(argv[1]);
  /* So that pmio is at work in this process, as it is in programs that write. */
  char other[4096];
  MPI_File logged;
  snprintf(other, sizeof other, "%s.logged", argv[1]);
  must(MPI_File_open(MPI_COMM_SELF, other, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &logged) ==
           MPI_SUCCESS,
       other);
  MPI_File_write_at(logged, 0, other, 100, MPI_BYTE, MPI_STATUS_IGNORE);
  const char* separator = "{";
  for (size_t i = 0; i < sizeof kScenes / sizeof *kScenes; i++)
    run_scene(&kScenes[i], argv[1], calls, &separator);
  printf("}\n");
  MPI_File_close(&logged);
  unlink(other);
  unlink(argv[1]);
  MPI_Finalize();
  return 0;
}
