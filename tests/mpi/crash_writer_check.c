/* Replays, without MPI, which call wrote which cell, and compares the file with that.
 *
 * Every byte must come from the cell's newest acknowledged version or from one that was begun after it; a
 * cell without an acknowledged version may also be zero, or not there at all. What a rank wrote whose log is
 * lost counts as begun only. */
#include "crash_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxCandidates = 64 };
int crash_check(const struct crash_progress* progress, const char* path, uint64_t seed, int ranks,
                struct crash_lost lost);

struct cell {
  uint64_t acknowledged;          /* newest version; 0: none */
  uint64_t begun[kMaxCandidates]; /* versions after it that were begun only */
  int begun_count;
};

static void apply(struct cell* cells, uint64_t acknowledged, uint64_t seed, int rank, int ranks,
                  uint64_t number) {
  const struct crash_call call = crash_call_of(seed, rank, ranks, number);
  const int place = crash_place(rank, ranks, number / kCallsPerEpoch);
  for (int i = 0; i < call.count; i++) {
    struct cell* cell = &cells[place + (call.first + i) * ranks];
    if (number < acknowledged) {
      cell->acknowledged = crash_version(number);
      cell->begun_count = 0;
    } else if (cell->begun_count < kMaxCandidates) {
      cell->begun[cell->begun_count++] = crash_version(number);
    }
  }
}

static struct cell* replay(const struct crash_progress* progress, uint64_t seed, int ranks,
                           struct crash_lost lost) {
  struct cell* cells = calloc(kCells, sizeof *cells);
  uint64_t last = 0;
  for (int rank = 0; rank < ranks; rank++)
    if (progress[rank].started > last) last = progress[rank].started;
  /* Within an epoch ranks write different cells, so their order among each other does not matter. */
  for (uint64_t number = 0; cells && number < last; number++)
    for (int rank = 0; rank < ranks; rank++) {
      const int is_lost = rank >= lost.first && rank <= lost.last;
      if (number < progress[rank].started)
        apply(cells, is_lost ? 0 : progress[rank].acknowledged, seed, rank, ranks, number);
    }
  return cells;
}

/* A byte is right if some allowed version has it there; a torn call may leave a mixture of two. */
static int byte_is_right(const struct cell* cell, uint64_t index, int byte, uint8_t value) {
  if (cell->acknowledged ? crash_byte(index, cell->acknowledged, byte) == value : value == 0) return 1;
  for (int i = 0; i < cell->begun_count; i++)
    if (crash_byte(index, cell->begun[i], byte) == value) return 1;
  return 0;
}

/* The version that a damaged cell does hold, for the message; 0 if it is none of the calls so far. */
static uint64_t version_found(const uint8_t* bytes, uint64_t index, uint64_t newest) {
  for (uint64_t version = 1; version <= newest; version++) {
    int byte = 0;
    while (byte < kCellBytes && bytes[byte] == crash_byte(index, version, byte)) byte++;
    if (byte == kCellBytes) return version;
  }
  return 0;
}

static int check_cell(const struct cell* cell, uint64_t index, const uint8_t* bytes, size_t present,
                      uint64_t newest) {
  if (present < kCellBytes && cell->acknowledged) {
    printf("cell %llu: version %llu was acknowledged, but the file ends\n", (unsigned long long)index,
           (unsigned long long)cell->acknowledged);
    return 1;
  }
  for (size_t byte = 0; byte < present; byte++) {
    if (byte_is_right(cell, index, (int)byte, bytes[byte])) continue;
    printf("cell %llu byte %zu is wrong: acknowledged version %llu, %d begun after it, found version %llu\n",
           (unsigned long long)index, byte, (unsigned long long)cell->acknowledged, cell->begun_count,
           (unsigned long long)version_found(bytes, index, newest));
    return 1;
  }
  return 0;
}

int crash_check(const struct crash_progress* progress, const char* path, uint64_t seed, int ranks,
                struct crash_lost lost) {
  struct cell* cells = replay(progress, seed, ranks, lost);
  if (!cells) return 2;
  uint64_t newest = 0;
  for (int rank = 0; rank < ranks; rank++)
    if (progress[rank].started > newest) newest = progress[rank].started;
  FILE* file = fopen(path, "rb");
  int wrong = 0, acknowledged = 0;
  for (uint64_t index = 0; index < kCells; index++) {
    uint8_t bytes[kCellBytes];
    const size_t present = file ? fread(bytes, 1, kCellBytes, file) : 0;
    acknowledged += cells[index].acknowledged != 0;
    if (wrong < 10) wrong += check_cell(&cells[index], index, bytes, present, newest);
  }
  if (file && fgetc(file) != EOF) {
    printf("the file is longer than any call wrote\n");
    wrong++;
  }
  if (file) fclose(file);
  free(cells);
  printf("%d of %d cells acknowledged, newest call %llu: %s\n", acknowledged, (int)kCells,
         (unsigned long long)newest, wrong ? "WRONG" : "right");
  return wrong ? 1 : 0;
}
