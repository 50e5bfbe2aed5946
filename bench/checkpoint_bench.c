/* A program that writes checkpoints: a new file each, closed, and then it computes. Linked with
 * access_mpiio.c.
 *
 *   checkpoint_bench --file PREFIX --block BYTES [--bytes PER_RANK] [--count N] [--compute SECONDS]
 *                    [--independent] [--hint KEY=VALUE]...
 *
 * What is computed is a fixed amount of work, which takes that many seconds if nobody disturbs it. Times are
 * those of the slowest rank, of each checkpoint: io_s from before the open to behind the close, compute_s of
 * the work behind it. Before each checkpoint memory for its bytes, thrice, is touched and freed, untimed: a
 * virtual machine gives memory that has been free for seconds back to its host, and whoever touches it next
 * would pay for that. At the end every byte of every file is checked, untimed. Output: one line of JSON from
 * rank 0. */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access.h"
#include "work.h"

enum { MOST = 64, COPIES = 3 /* the log's, the page cache's, and as much again */ };

struct bench {
  struct strided pattern;
  struct access access;
  const char* prefix;
  int count;
  double compute_s, io[MOST], computed[MOST];
};

/* Units of work that take so many seconds, the same on all ranks. */
static long units_of(double seconds) {
  const long probe = 20000000;
  work(probe);
  const double start = MPI_Wtime();
  work(probe);
  const double taken = slowest(MPI_Wtime() - start);
  return (long)((double)probe * seconds / taken);
}

static const char* path_of(const struct bench* b, int number) {
  static char path[4096];
  snprintf(path, sizeof path, "%s-%d", b->prefix, number);
  return path;
}

static void touch_memory(size_t bytes) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory");
  (void)madvise(memory, bytes, MADV_HUGEPAGE); /* such are given back */
  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  munmap(memory, bytes);
}

static void write_one(struct bench* b, int number) {
  const struct strided* s = &b->pattern;
  touch_memory(COPIES * (size_t)s->rank_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  access_open(&b->access, path_of(b, number), 0);
  access_select(&b->access, s->rank);
  for (MPI_Offset call = 0; call < calls(s); call++) access_call(&b->access, s->rank, call, 1);
  access_close(&b->access);
  b->io[number] = slowest(MPI_Wtime() - start);
}

static void print_times(const char* name, const double* times, int count) {
  printf("\"%s\": [", name);
  for (int i = 0; i < count; i++) printf("%s%.6f", i == 0 ? "" : ", ", times[i]);
  printf("], ");
}

static void parse(struct bench* b, int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const char* option = argv[i];
    if (strcmp(option, "--independent") == 0)
      b->access.independent = 1;
    else if (i + 1 == argc)
      fail("an option lacks its value");
    else if (strcmp(option, "--file") == 0)
      b->prefix = argv[++i];
    else if (strcmp(option, "--block") == 0)
      b->pattern.block_bytes = atoll(argv[++i]);
    else if (strcmp(option, "--bytes") == 0)
      b->pattern.rank_bytes = atoll(argv[++i]);
    else if (strcmp(option, "--count") == 0)
      b->count = atoi(argv[++i]);
    else if (strcmp(option, "--compute") == 0)
      b->compute_s = atof(argv[++i]);
    else if (strcmp(option, "--hint") == 0)
      add_hint(b->access.info, argv[++i]);
    else
      fail("unknown option");
  }
  struct strided* s = &b->pattern;
  if (!b->prefix || s->block_bytes <= 0 || s->block_bytes % 8 != 0 || b->count < 1 || b->count > MOST)
    fail("--file and a --block of a multiple of 8 bytes are needed, and --count is 1 to 64");
  s->rank_bytes -= s->rank_bytes % call_bytes(s);
  if (s->rank_bytes <= 0) fail("--bytes is less than one call");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct bench b = {.pattern = {.blocks_per_call = 1, .rank_bytes = 16 << 20, .grid_columns = 0},
                    .count = 5,
                    .compute_s = 1};
  struct strided* s = &b.pattern;
  MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
  s->grid_columns = s->writers = s->ranks;
  b.access.pattern = s;
  MPI_Info_create(&b.access.info);
  parse(&b, argc, argv);
  s->data = malloc((size_t)s->rank_bytes);
  if (!s->data) fail("out of memory");
  make_data(s);
  const long units = units_of(b.compute_s);
  for (int number = 0; number < b.count; number++) {
    write_one(&b, number);
    const double start = MPI_Wtime();
    work(units);
    b.computed[number] = slowest(MPI_Wtime() - start);
  }
  for (int number = 0; number < b.count; number++) {
    access_open(&b.access, path_of(&b, number), 1); /* then it is complete */
    const MPI_Offset begin = access_close(&b.access);
    check_file(s, path_of(&b, number), begin);
  }
  if (s->rank == 0) {
    printf("{");
    print_times("io_s", b.io, b.count);
    print_times("compute_s", b.computed, b.count);
    printf("\"bytes\": %lld}\n", (long long)(s->rank_bytes * s->ranks));
  }
  MPI_Info_free(&b.access.info);
  free(s->data);
  MPI_Finalize();
  return 0;
}
