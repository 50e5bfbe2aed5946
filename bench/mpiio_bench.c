/* One strided pattern, written through MPI-IO, with each phase timed alone; the same program for all
 * contestants.
 *
 *   mpiio_bench --file F --block BYTES [--blocks-per-call N] [--bytes PER_RANK] [--independent] [--read]
 * [--warm]
 *               [--hint KEY=VALUE]... [--copy DIRECTORY [--checked]]
 *
 * Rank r of n owns the blocks r, r + n, r + 2n... of the file. With one block per call it is written at its
 * explicit offset; with more, a call writes a whole column of blocks through a vector view. Data are made
 * before the clock starts. A phase's time is that of the slowest rank; no barrier is between the calls of a
 * phase. --read reads, before the close, what the next rank wrote. --warm does it all once before, to another
 * file, and forgets those times. --copy does no I/O at all: memcpy of the same bytes, a call's at a time, to
 * warm shared memory in DIRECTORY and back, which is what the machine can do at best; with --checked each
 * writing call also reads the clock and takes a CRC-32C of its bytes, as any log that orders and validates
 * its records must. At the end every byte is checked, untimed. Output: one line of JSON from rank 0. */
#include <fcntl.h>
#include <isa-l.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct bench {
  const char* copy_directory; /* NULL: MPI-IO */
  const char* path;
  MPI_Offset block_bytes, blocks_per_call, rank_bytes;
  int independent, read, warm, checked;
  MPI_Info info;
  int rank, ranks;
  uint64_t* data; /* rank_bytes */
};

struct times {
  double open, write, read, close;
};

static uint64_t word_at(uint64_t index) {
  uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 29);
}

/* Index in the file of word i of the data that rank `owner` writes. */
static uint64_t file_word(const struct bench* b, int owner, uint64_t i) {
  const uint64_t block_words = (uint64_t)b->block_bytes / 8;
  return (i / block_words * (uint64_t)b->ranks + (uint64_t)owner) * block_words + i % block_words;
}

static void fail(const char* what) {
  fprintf(stderr, "mpiio_bench: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "mpiio_bench: %s\n", text);
  fail(what);
}

static double slowest(double seconds) {
  double most = 0;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/* Gives `owner`'s blocks to this rank's view. One block per call needs none. */
static void set_view(const struct bench* b, MPI_File file, int owner) {
  if (b->blocks_per_call == 1) return;
  MPI_Datatype block, column;
  MPI_Type_contiguous((int)(b->block_bytes / 8), MPI_UINT64_T, &block);
  MPI_Type_create_resized(block, 0, b->block_bytes * b->ranks, &column);
  MPI_Type_commit(&column);
  must(MPI_File_set_view(file, owner * b->block_bytes, MPI_UINT64_T, column, "native", MPI_INFO_NULL),
       "set_view");
  MPI_Type_free(&column);
  MPI_Type_free(&block);
}

static double transfer(const struct bench* b, MPI_File file, int owner, int writing) {
  const MPI_Offset call_bytes = b->block_bytes * b->blocks_per_call;
  const int words = (int)(call_bytes / 8);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (MPI_Offset call = 0; call < b->rank_bytes / call_bytes; call++) {
    const MPI_Offset offset =
        b->blocks_per_call == 1 ? (call * b->ranks + owner) * b->block_bytes : call * words;
    uint64_t* data = b->data + call * words;
    int error;
    if (writing && b->independent)
      error = MPI_File_write_at(file, offset, data, words, MPI_UINT64_T, MPI_STATUS_IGNORE);
    else if (writing)
      error = MPI_File_write_at_all(file, offset, data, words, MPI_UINT64_T, MPI_STATUS_IGNORE);
    else if (b->independent)
      error = MPI_File_read_at(file, offset, data, words, MPI_UINT64_T, MPI_STATUS_IGNORE);
    else
      error = MPI_File_read_at_all(file, offset, data, words, MPI_UINT64_T, MPI_STATUS_IGNORE);
    must(error, writing ? "write" : "read");
  }
  return slowest(MPI_Wtime() - start);
}

static void make_data(const struct bench* b) {
  for (uint64_t i = 0; i < (uint64_t)b->rank_bytes / 8; i++) b->data[i] = word_at(file_word(b, b->rank, i));
}

static void check_data(const struct bench* b, int owner) {
  for (uint64_t i = 0; i < (uint64_t)b->rank_bytes / 8; i++)
    if (b->data[i] != word_at(file_word(b, owner, i))) fail("what was read is not what was written");
}

static void check_file(const struct bench* b, const char* path) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (b->rank != 0) return;
  static uint64_t chunk[1 << 16];
  FILE* file = fopen(path, "rb");
  if (!file) fail("the file cannot be opened");
  uint64_t index = 0;
  for (size_t got; (got = fread(chunk, 8, sizeof chunk / 8, file)) > 0; index += got)
    for (size_t i = 0; i < got; i++)
      if (chunk[i] != word_at(index + i)) fail("the file does not hold what was written");
  fclose(file);
  if (index != (uint64_t)b->rank_bytes / 8 * (uint64_t)b->ranks) fail("the file has the wrong size");
}

static struct times run_once(const struct bench* b, const char* path) {
  struct times t = {0};
  MPI_File file;
  if (b->rank == 0) unlink(path);
  make_data(b);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, b->info, &file), "open");
  t.open = slowest(MPI_Wtime() - start);
  set_view(b, file, b->rank);
  t.write = transfer(b, file, b->rank, 1);
  if (b->read) {
    const int next = (b->rank + 1) % b->ranks;
    memset(b->data, 0, (size_t)b->rank_bytes);
    set_view(b, file, next);
    t.read = transfer(b, file, next, 0);
    check_data(b, next);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  must(MPI_File_close(&file), "close");
  t.close = slowest(MPI_Wtime() - start);
  check_file(b, path);
  return t;
}

/* The file that holds what `owner` copies, mapped whole. */
static unsigned char* map_copy(const struct bench* b, int owner) {
  char path[4096];
  snprintf(path, sizeof path, "%s/copy-%d", b->copy_directory, owner);
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, b->rank_bytes) != 0) fail("the directory of --copy cannot be written");
  unsigned char* mapped = mmap(NULL, (size_t)b->rank_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
}

/* Seconds of copying all of b->data to the mapping, or back. */
static double copy_calls(const struct bench* b, unsigned char* mapped, int writing) {
  const size_t call_bytes = (size_t)(b->block_bytes * b->blocks_per_call);
  unsigned char* data = (unsigned char*)b->data;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (size_t at = 0; at < (size_t)b->rank_bytes; at += call_bytes) {
    if (writing && b->checked) check_call(data + at, call_bytes);
    memcpy(writing ? mapped + at : data + at, writing ? data + at : mapped + at, call_bytes);
    __asm__ volatile("" ::: "memory"); /* each call's copy is made */
  }
  return slowest(MPI_Wtime() - start);
}

static struct times copy_once(const struct bench* b) {
  struct times t = {0};
  const int next = (b->rank + 1) % b->ranks;
  unsigned char* own = map_copy(b, b->rank);
  make_data(b);
  memset(own, 1, (size_t)b->rank_bytes);
  t.write = copy_calls(b, own, 1);
  unsigned char* other = map_copy(b, next);
  memset(b->data, 0, (size_t)b->rank_bytes);
  copy_calls(b, other, 0); /* pages are mapped by the first use */
  t.read = copy_calls(b, other, 0);
  check_data(b, next);
  munmap(own, (size_t)b->rank_bytes);
  munmap(other, (size_t)b->rank_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  char path[4096];
  snprintf(path, sizeof path, "%s/copy-%d", b->copy_directory, b->rank);
  unlink(path);
  return t;
}

static void add_hint(struct bench* b, const char* text) {
  char key[256];
  const char* value = strchr(text, '=');
  if (!value || (size_t)(value - text) >= sizeof key) fail("a hint is KEY=VALUE");
  memcpy(key, text, (size_t)(value - text));
  key[value - text] = 0;
  MPI_Info_set(b->info, key, value + 1);
}

static void parse(struct bench* b, int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const char* option = argv[i];
    if (strcmp(option, "--independent") == 0)
      b->independent = 1;
    else if (strcmp(option, "--read") == 0)
      b->read = 1;
    else if (strcmp(option, "--warm") == 0)
      b->warm = 1;
    else if (strcmp(option, "--checked") == 0)
      b->checked = 1;
    else if (i + 1 == argc)
      fail("an option lacks its value");
    else if (strcmp(option, "--file") == 0)
      b->path = argv[++i];
    else if (strcmp(option, "--copy") == 0)
      b->copy_directory = argv[++i];
    else if (strcmp(option, "--block") == 0)
      b->block_bytes = atoll(argv[++i]);
    else if (strcmp(option, "--blocks-per-call") == 0)
      b->blocks_per_call = atoll(argv[++i]);
    else if (strcmp(option, "--bytes") == 0)
      b->rank_bytes = atoll(argv[++i]);
    else if (strcmp(option, "--hint") == 0)
      add_hint(b, argv[++i]);
    else
      fail("unknown option");
  }
  if (!b->path || b->block_bytes <= 0 || b->block_bytes % 8 != 0 || b->blocks_per_call <= 0)
    fail("--file and a --block of a multiple of 8 bytes are needed");
  const MPI_Offset call_bytes = b->block_bytes * b->blocks_per_call;
  b->rank_bytes = b->rank_bytes / call_bytes * call_bytes;
  if (b->rank_bytes <= 0) fail("--bytes is less than one call");
}

int main(int argc, char** argv) {
  struct bench b = {.blocks_per_call = 1, .rank_bytes = 16 << 20};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
  MPI_Info_create(&b.info);
  parse(&b, argc, argv);
  b.data = malloc((size_t)b.rank_bytes);
  if (!b.data) fail("out of memory");
  if (b.warm && !b.copy_directory) {
    char other[4096];
    snprintf(other, sizeof other, "%s.warm", b.path);
    run_once(&b, other);
    if (b.rank == 0) unlink(other);
  }
  const struct times t = b.copy_directory ? copy_once(&b) : run_once(&b, b.path);
  if (b.rank == 0) {
    printf(
        "{\"bytes\": %lld, \"calls_per_rank\": %lld, \"ranks\": %d, \"open_s\": %.9f, \"write_s\": %.9f, "
        "\"read_s\": %.9f, \"close_s\": %.9f}\n",
        (long long)b.rank_bytes * b.ranks, (long long)(b.rank_bytes / (b.block_bytes * b.blocks_per_call)),
        b.ranks, t.open, t.write, t.read, t.close);
    unlink(b.path);
  }
  free(b.data);
  MPI_Info_free(&b.info);
  MPI_Finalize();
  return 0;
}
