#define _GNU_SOURCE /* program_invocation_short_name */
#include "strided.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1); /* MPICH's may return */
}

void must(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
  fail(what);
}

double slowest(double seconds) {
  double most = 0;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

void add_hint(MPI_Info info, const char* text) {
  char key[256];
  const char* value = strchr(text, '=');
  if (!value || (size_t)(value - text) >= sizeof key) fail("a hint is KEY=VALUE");
  memcpy(key, text, (size_t)(value - text));
  key[value - text] = 0;
  MPI_Info_set(info, key, value + 1);
}

MPI_Offset call_bytes(const struct strided* s) {
  return s->pieces ? s->pieces[s->blocks_per_call] : s->block_bytes * s->blocks_per_call;
}
MPI_Offset calls(const struct strided* s) { return s->rank_bytes / call_bytes(s); }
MPI_Offset array_rows(const struct strided* s) { return s->blocks_per_call * (s->writers / s->grid_columns); }
MPI_Offset row_bytes(const struct strided* s) { return s->block_bytes * s->grid_columns; }
MPI_Offset tile_row(const struct strided* s, int owner) {
  return part_of(s, owner) / s->grid_columns * s->blocks_per_call;
}
MPI_Offset tile_byte(const struct strided* s, int owner) {
  return part_of(s, owner) % s->grid_columns * s->block_bytes;
}

int writes(const struct strided* s, int owner) { return owner % (s->ranks / s->writers) == 0; }
int part_of(const struct strided* s, int owner) { return owner / (s->ranks / s->writers); }

static MPI_Offset common_factor(MPI_Offset a, MPI_Offset b) { return b == 0 ? a : common_factor(b, a % b); }

void make_order(struct strided* s) {
  s->order_step = calls(s) * 5 / 8 | 1;
  while (common_factor(s->order_step, calls(s)) != 1) s->order_step += 2; /* each place comes once */
}

MPI_Offset place_of(const struct strided* s, int owner, MPI_Offset call) {
  return s->order_step == 0 ? call : (call * s->order_step + (MPI_Offset)7 * (owner + 1)) % calls(s);
}

static uint64_t word_at(uint64_t index) {
  uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 29);
}

void make_irregular(struct strided* s, MPI_Offset groups) {
  s->block_bytes = 8;
  s->blocks_per_call = groups;
  const uint64_t lengths = s->mean_bytes >= 8 ? (uint64_t)s->mean_bytes / 4 - 1 : 1;
  s->pieces = groups > 0 ? calloc((size_t)groups + 1, sizeof *s->pieces) : NULL;
  if (!s->pieces) fail("no memory for so many groups");
  for (MPI_Offset i = 0; i < groups; i++)
    s->pieces[i + 1] = s->pieces[i] + 8 * (1 + (MPI_Offset)(word_at((uint64_t)i) % lengths));
}

MPI_Offset piece_byte(const struct strided* s, int owner, MPI_Offset group) {
  const MPI_Offset begin = s->pieces[group], length = s->pieces[group + 1] - begin;
  const uint64_t place =
      ((uint64_t)part_of(s, owner) + word_at((uint64_t)group) / 128) % (uint64_t)s->writers;
  return begin * s->writers + (MPI_Offset)place * length;
}

void make_tiles(struct strided* s, const char* text) {
  for (const char* at = text; at; at = strchr(at, 'x') ? strchr(at, 'x') + 1 : NULL) {
    if (s->dimensions == MAX_DIMENSIONS || atoi(at) <= 0) fail("a tile has up to 4 dimensions, as 50x50x50");
    s->tile[s->dimensions++] = atoi(at);
  }
  int grid[MAX_DIMENSIONS] = {0};
  MPI_Dims_create(s->writers, s->dimensions, grid);
  s->blocks_per_call = 1;
  for (int i = 0; i < s->dimensions; i++) {
    s->grid[i] = grid[s->dimensions - 1 - i];
    if (i < s->dimensions - 1) s->blocks_per_call *= s->tile[i];
  }
  s->block_bytes = s->tile[s->dimensions - 1] * s->element_bytes;
}

/* Where a tile's run begins in its array. */
static MPI_Offset run_byte(const struct strided* s, int owner, MPI_Offset run) {
  MPI_Offset element = 0, of_dimension = 1;
  int part = part_of(s, owner);
  for (int i = s->dimensions - 1; i >= 0; i--) {
    MPI_Offset at = (MPI_Offset)(part % s->grid[i]) * s->tile[i];
    part /= s->grid[i];
    if (i < s->dimensions - 1) {
      at += run % s->tile[i];
      run /= s->tile[i];
    }
    element += at * of_dimension;
    of_dimension *= (MPI_Offset)s->tile[i] * s->grid[i];
  }
  return element * s->element_bytes;
}

/* The piece with byte `at` of a call's data. */
static MPI_Offset piece_of(const struct strided* s, MPI_Offset at) {
  MPI_Offset first = 0, last = s->blocks_per_call;
  while (last - first > 1) {
    const MPI_Offset middle = (first + last) / 2;
    if (s->pieces[middle] <= at)
      first = middle;
    else
      last = middle;
  }
  return first;
}

static uint64_t irregular_file_byte(const struct strided* s, int owner, uint64_t i) {
  const MPI_Offset call = (MPI_Offset)i / call_bytes(s), at = (MPI_Offset)i % call_bytes(s);
  const MPI_Offset group = piece_of(s, at);
  return (uint64_t)(call * call_bytes(s) * s->writers + piece_byte(s, owner, group) + at - s->pieces[group]);
}

/* Byte of the arrays at which byte i of the data that rank `owner` writes belongs. */
static uint64_t file_byte(const struct strided* s, int owner, uint64_t i) {
  if (s->pieces) return irregular_file_byte(s, owner, i);
  const uint64_t block = i / (uint64_t)s->block_bytes;
  const uint64_t row = block % (uint64_t)s->blocks_per_call, in_block = i % (uint64_t)s->block_bytes;
  const uint64_t call = (uint64_t)place_of(s, owner, (MPI_Offset)(block / (uint64_t)s->blocks_per_call));
  if (s->dimensions)
    return call * (uint64_t)(call_bytes(s) * s->writers) + (uint64_t)run_byte(s, owner, (MPI_Offset)row) +
           in_block;
  if (s->segmented)
    return (uint64_t)(part_of(s, owner) * s->rank_bytes) + call * (uint64_t)call_bytes(s) + in_block;
  const uint64_t array_row = call * (uint64_t)array_rows(s) + (uint64_t)tile_row(s, owner) + row;
  return array_row * (uint64_t)row_bytes(s) + (uint64_t)tile_byte(s, owner) + in_block;
}

/* Word i of the data that rank `owner` writes. */
static uint64_t data_word(const struct strided* s, int owner, uint64_t i) {
  if (s->block_bytes % 8 == 0) return word_at(file_byte(s, owner, i * 8) / 8);
  uint64_t word = 0;
  for (uint64_t byte = 0; byte < 8; byte++) {
    const uint64_t at = file_byte(s, owner, i * 8 + byte);
    word |= (word_at(at / 8) >> at % 8 * 8 & 0xff) << byte * 8;
  }
  return word;
}

void make_data(const struct strided* s) {
  if (!writes(s, s->rank)) return;
  for (uint64_t i = 0; i < (uint64_t)s->rank_bytes / 8; i++) s->data[i] = data_word(s, s->rank, i);
}

void check_data(const struct strided* s, int owner) {
  if (!writes(s, owner)) return;
  for (uint64_t i = 0; i < (uint64_t)s->rank_bytes / 8; i++)
    if (s->data[i] != data_word(s, owner, i)) fail("what was read is not what was written");
}

enum fault { NONE, NO_FILE, WRONG_SIZE, WRONG_DATA };

static const char* const faults[] = {"", "the file cannot be opened", "the file has the wrong size",
                                     "the file does not hold what was written"};

/* Of words [first, last) of the file, from its byte `begin` on. */
static enum fault check_words(const char* path, MPI_Offset begin, uint64_t first, uint64_t last) {
  static uint64_t chunk[1 << 16];
  const size_t most = sizeof chunk / 8;
  FILE* file = fopen(path, "rb");
  if (!file || fseeko(file, (off_t)(begin + (MPI_Offset)first * 8), SEEK_SET) != 0) return NO_FILE;
  enum fault fault = NONE;
  while (first < last && fault == NONE) {
    const size_t got = fread(chunk, 8, last - first < most ? (size_t)(last - first) : most, file);
    if (got == 0) fault = WRONG_SIZE;
    for (size_t i = 0; i < got; i++)
      if (chunk[i] != word_at(first + i)) fault = WRONG_DATA;
    first += got;
  }
  fclose(file);
  return fault;
}

/* The worst of all ranks'. Of those who wait for a check, which may take a minute, none polls. */
static int worst_of_all(int mine) {
  const struct timespec pause = {0, 5000000};
  int worst = NONE;
  MPI_Request request;
  MPI_Iallreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) nanosleep(&pause, NULL);
  return worst;
}

void check_file(const struct strided* s, const char* path, MPI_Offset begin) {
  MPI_Barrier(MPI_COMM_WORLD);
  /* The ranks of rank 0's node: another one's file system may not know yet how large the file is. */
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, s->rank, MPI_INFO_NULL, &node);
  int lowest = s->rank, part, parts;
  MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  MPI_Comm_rank(node, &part);
  MPI_Comm_size(node, &parts);
  MPI_Comm_free(&node);
  const uint64_t words = (uint64_t)s->rank_bytes / 8 * (uint64_t)s->writers;
  int fault = NONE;
  if (lowest == 0)
    fault = check_words(path, begin, words * (uint64_t)part / (uint64_t)parts,
                        words * ((uint64_t)part + 1) / (uint64_t)parts);
  struct stat facts;
  if (s->rank == 0 && begin == 0 && (stat(path, &facts) != 0 || (uint64_t)facts.st_size != words * 8))
    fault = WRONG_SIZE;
  /* One rank says it: of several that end the job at once, the launcher may lose what they say. */
  fault = worst_of_all(fault);
  if (s->rank == 0 && fault != NONE) fail(faults[fault]);
  MPI_Barrier(MPI_COMM_WORLD);
}
