/* One pattern (strided.h), written by collective calls, with each phase timed alone; the same program for all
 * contestants. Linked with access_mpiio.c, or as hdf5_bench with access_hdf5.c.
 *
 *   mpiio_bench --file F --block BYTES [--blocks-per-call N] [--grid-columns N] [--bytes PER_RANK]
 *               [--segmented] [--random-order]
 *   mpiio_bench --file F --irregular GROUPS [--mean BYTES] [--bytes PER_RANK]
 *   mpiio_bench --file F --tile N[xN...] [--element BYTES] [--bytes PER_RANK]
 *               [--writers RANKS]
 *               [--independent] [--read] [--read-again] [--group RANKS] [--compute SECONDS] [--spread]
 *               [--busy] [--warm] [--hint KEY=VALUE]... [--copy DIRECTORY [--checked]]
 *
 * Data are made before the clock starts. A phase's time is that of the slowest rank; no barrier is between
 * the calls of a phase. --read reads, before the close, what the next rank wrote: of all, or of a group of
 * successive ranks (those of a node, say). --read-again closes the file, opens it for reading and writing,
 * and reads the same. --compute sleeps before the close, as a program that computes does, untimed; with
 * --spread in ten parts between the calls. With --busy it works instead, for so long of its processor's time,
 * and what it takes longer counts as time of the calls. --segmented: a rank's calls write one region of the
 * file. --random-order: and its places in an order of its own. --irregular: pieces of --mean bytes (516) at
 * irregular places. --tile: a call writes a subarray of up to four dimensions, of elements of --element bytes
 * (8). --writers: only so many ranks, evenly spread, have data. --warm does it all, but computing, once
 * before, to another file, and forgets it. --copy does no I/O at all: memcpy of the same bytes, a call's at a
 * time, to shared memory in DIRECTORY and back, which is what the machine can do at best. With --warm the
 * memory has been touched; without, a new file is mapped and its pages are populated ahead of the copy, in
 * the time of writing. With --checked each writing call also reads the clock and takes a CRC-32C of its
 * bytes, as any log that orders and validates its records must. At the end every byte is checked, untimed.
 * Output: one line of JSON from rank 0. */
#include <fcntl.h>
#include <isa-l.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "work.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif
static const size_t kPopulated = 2 << 20; /* at once */

struct bench {
  struct strided pattern;
  struct access access;
  const char* copy_directory; /* NULL: files */
  const char* path;
  const char* tile;  /* NULL: no dimensions */
  MPI_Offset groups; /* 0: regular */
  int read, read_again, warm, checked, spread, random_order, busy, group;
  double compute_s;
};

struct times {
  double open, write, read, close, read_again;
};

static int next_rank(const struct bench* b) {
  const int rank = b->pattern.rank, first = rank / b->group * b->group;
  return first + (rank - first + 1) % b->group;
}

/* One of so many parts; returns the seconds that are not to count. */
static double compute(const struct bench* b, int parts) {
  const double start = MPI_Wtime(), seconds = b->compute_s / parts;
  if (b->busy) {
    work_for(seconds);
    return seconds;
  }
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
  return MPI_Wtime() - start;
}

static double transfer(struct bench* b, int owner, int writing) {
  const MPI_Offset all = calls(&b->pattern);
  const int parts = all < 10 ? (int)all : 10;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double computed = 0;
  for (MPI_Offset call = 0; call < all; call++) {
    access_call(&b->access, owner, call, writing);
    if (!writing || !b->spread || (call + 1) * parts / all == call * parts / all) continue;
    computed += compute(b, parts);
  }
  return slowest(MPI_Wtime() - start - computed);
}

/* Its time. */
static double read_next(struct bench* b) {
  const int next = next_rank(b);
  memset(b->pattern.data, 0, (size_t)b->pattern.rank_bytes);
  access_select(&b->access, next);
  const double seconds = transfer(b, next, 0);
  check_data(&b->pattern, next);
  return seconds;
}

/* Without a check it is only to warm up. */
static struct times run_once(struct bench* b, const char* path, int check) {
  struct times t = {0};
  const struct strided* s = &b->pattern;
  if (s->rank == 0) unlink(path);
  make_data(s);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  access_open(&b->access, path, 0);
  t.open = slowest(MPI_Wtime() - start);
  access_select(&b->access, s->rank);
  t.write = transfer(b, s->rank, 1);
  if (b->read) t.read = read_next(b);
  if (!b->spread) compute(b, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  const MPI_Offset begin = access_close(&b->access);
  t.close = slowest(MPI_Wtime() - start);
  if (b->read_again) {
    access_open(&b->access, path, 1);
    t.read_again = read_next(b);
    access_close(&b->access);
  }
  if (check) check_file(s, path, begin);
  return t;
}

/* The file that holds what `owner` copies, mapped whole. */
static unsigned char* map_copy(const struct bench* b, int owner) {
  char path[4096];
  snprintf(path, sizeof path, "%s/copy-%d", b->copy_directory, owner);
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, b->pattern.rank_bytes) != 0) fail("the directory of --copy cannot be written");
  unsigned char* mapped =
      mmap(NULL, (size_t)b->pattern.rank_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) fail("out of memory");
  return mapped;
}

/* What a log must do beside the copy. */
static void check_call(unsigned char* data, size_t bytes) {
  static volatile uint32_t sum; /* nothing is left out */
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  sum = crc32_iscsi(data, (int)bytes, (unsigned)now.tv_nsec);
  (void)sum;
}

/* Pages of [*ready, end) and some behind, so that the copy takes no fault: the best way to touch them first.
 */
static void populate(const struct bench* b, unsigned char* mapped, size_t* ready, size_t end) {
  const size_t all = (size_t)b->pattern.rank_bytes;
  while (*ready < end) {
    const size_t bytes = all - *ready < kPopulated ? all - *ready : kPopulated;
    (void)madvise(mapped + *ready, bytes, MADV_POPULATE_WRITE); /* if the kernel cannot, the copy faults */
    *ready += bytes;
  }
}

/* Copies all of b->pattern.data to the mapping, or back. */
static void copy_calls(const struct bench* b, unsigned char* mapped, int writing) {
  const size_t one_call = (size_t)call_bytes(&b->pattern);
  unsigned char* data = (unsigned char*)b->pattern.data;
  size_t ready = writing && !b->warm ? 0 : (size_t)b->pattern.rank_bytes;
  for (size_t at = 0; at < (size_t)b->pattern.rank_bytes; at += one_call) {
    if (writing && b->checked) check_call(data + at, one_call);
    populate(b, mapped, &ready, at + one_call);
    memcpy(writing ? mapped + at : data + at, writing ? data + at : mapped + at, one_call);
    __asm__ volatile("" ::: "memory"); /* each call's copy is made */
  }
}

static struct times copy_once(const struct bench* b) {
  struct times t = {0};
  const int next = next_rank(b);
  unsigned char* own = b->warm ? map_copy(b, b->pattern.rank) : NULL;
  make_data(&b->pattern);
  if (b->warm) memset(own, 1, (size_t)b->pattern.rank_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  if (!b->warm) own = map_copy(b, b->pattern.rank);
  copy_calls(b, own, 1);
  t.write = slowest(MPI_Wtime() - start);
  unsigned char* other = map_copy(b, next);
  memset(b->pattern.data, 0, (size_t)b->pattern.rank_bytes);
  copy_calls(b, other, 0); /* pages are mapped by the first use */
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  copy_calls(b, other, 0);
  t.read = slowest(MPI_Wtime() - start);
  check_data(&b->pattern, next);
  munmap(own, (size_t)b->pattern.rank_bytes);
  munmap(other, (size_t)b->pattern.rank_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  char path[4096];
  snprintf(path, sizeof path, "%s/copy-%d", b->copy_directory, b->pattern.rank);
  unlink(path);
  return t;
}

/* What depends on several options. */
static void finish_pattern(struct bench* b) {
  struct strided* s = &b->pattern;
  if (s->writers <= 0 || s->ranks % s->writers != 0) fail("--writers must divide the number of ranks");
  const int has_columns = s->grid_columns != 0;
  if (!has_columns) s->grid_columns = s->writers;
  if (has_columns && (b->groups || b->tile)) fail("--irregular and --tile have no --grid-columns");
  if (s->grid_columns <= 0 || s->writers % s->grid_columns != 0 || b->group <= 0 || s->ranks % b->group != 0)
    fail("--grid-columns must divide the number of writers, and --group that of ranks");
  if (s->element_bytes <= 0 || s->element_bytes % 8 != 0 || s->mean_bytes < 8)
    fail("--element must be a multiple of 8 bytes, and --mean 8 or more");
  if (b->groups && b->tile) fail("--irregular and --tile exclude each other");
  if (b->groups) make_irregular(s, b->groups);
  if (b->tile) make_tiles(s, b->tile);
}

static void check_options(struct bench* b) {
  struct strided* s = &b->pattern;
  if (!b->path || s->block_bytes <= 0 || s->blocks_per_call <= 0 ||
      (s->block_bytes % 8 != 0 && s->blocks_per_call > 1))
    fail("--file and a --block are needed, of a multiple of 8 bytes if there are several in a call");
  if (s->segmented && (s->blocks_per_call != 1 || s->pieces || s->dimensions))
    fail("--segmented is for one block per call");
  if (b->copy_directory && s->writers != s->ranks) fail("--copy is of all ranks");
  s->rank_bytes -= s->rank_bytes % (call_bytes(s) * (call_bytes(s) % 8 == 0 ? 1 : 8));
  if (s->rank_bytes <= 0) fail("--bytes is less than one call, or than eight calls of a block of odd bytes");
  if (b->random_order) make_order(s);
}

/* 1: the option is one of these, which have no value. */
static int parse_flag(struct bench* b, const char* option) {
  const struct {
    const char* option;
    int* flag;
  } flags[] = {
      {"--independent", &b->access.independent},
      {"--read", &b->read},
      {"--read-again", &b->read_again},
      {"--warm", &b->warm},
      {"--checked", &b->checked},
      {"--spread", &b->spread},
      {"--busy", &b->busy},
      {"--segmented", &b->pattern.segmented},
      {"--random-order", &b->random_order},
  };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (strcmp(option, flags[i].option) != 0) continue;
    *flags[i].flag = 1;
    return 1;
  }
  return 0;
}

/* Likewise, of the pattern, with a value. */
static int parse_pattern(struct bench* b, const char* option, const char* value) {
  struct strided* s = &b->pattern;
  if (strcmp(option, "--block") == 0)
    s->block_bytes = atoll(value);
  else if (strcmp(option, "--blocks-per-call") == 0)
    s->blocks_per_call = atoll(value);
  else if (strcmp(option, "--irregular") == 0)
    b->groups = atoll(value) > 0 ? atoll(value) : -1;
  else if (strcmp(option, "--mean") == 0)
    s->mean_bytes = atoll(value);
  else if (strcmp(option, "--tile") == 0)
    b->tile = value;
  else if (strcmp(option, "--element") == 0)
    s->element_bytes = atoll(value);
  else if (strcmp(option, "--writers") == 0)
    s->writers = atoi(value);
  else if (strcmp(option, "--grid-columns") == 0)
    s->grid_columns = atoi(value) > 0 ? atoi(value) : -1;
  else if (strcmp(option, "--bytes") == 0)
    s->rank_bytes = atoll(value);
  else
    return 0;
  return 1;
}

static void parse(struct bench* b, int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const char* option = argv[i];
    if (parse_flag(b, option)) continue;
    if (i + 1 == argc) fail("an option is unknown or lacks its value");
    const char* value = argv[++i];
    if (parse_pattern(b, option, value)) continue;
    if (strcmp(option, "--file") == 0)
      b->path = value;
    else if (strcmp(option, "--copy") == 0)
      b->copy_directory = value;
    else if (strcmp(option, "--group") == 0)
      b->group = atoi(value);
    else if (strcmp(option, "--compute") == 0)
      b->compute_s = atof(value);
    else if (strcmp(option, "--hint") == 0)
      add_hint(b->access.info, value);
    else
      fail("unknown option");
  }
  finish_pattern(b);
  check_options(b);
}

int main(int argc, char** argv) {
  struct bench b = {
      .pattern = {.blocks_per_call = 1, .rank_bytes = 16 << 20, .mean_bytes = 516, .element_bytes = 8}};
  struct strided* s = &b.pattern;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
  s->writers = b.group = s->ranks;
  b.access.pattern = s;
  MPI_Info_create(&b.access.info);
  parse(&b, argc, argv);
  s->data = malloc((size_t)s->rank_bytes);
  if (!s->data) fail("out of memory");
  if (b.warm && !b.copy_directory) {
    char other[4096];
    snprintf(other, sizeof other, "%s.warm", b.path);
    const double compute_s = b.compute_s;
    b.compute_s = 0;
    run_once(&b, other, 0);
    b.compute_s = compute_s;
    if (s->rank == 0) unlink(other);
  }
  const struct times t = b.copy_directory ? copy_once(&b) : run_once(&b, b.path, 1);
  if (s->rank == 0) {
    printf(
        "{\"bytes\": %lld, \"calls_per_rank\": %lld, \"ranks\": %d, \"open_s\": %.9f, \"write_s\": %.9f, "
        "\"read_s\": %.9f, \"close_s\": %.9f, \"read_again_s\": %.9f}\n",
        (long long)s->rank_bytes * s->writers, (long long)calls(s), s->ranks, t.open, t.write, t.read,
        t.close, t.read_again);
    unlink(b.path);
  }
  free(s->data);
  free(s->pieces);
  MPI_Info_free(&b.access.info);
  MPI_Finalize();
  return 0;
}
