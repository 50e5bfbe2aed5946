/* What crash_writer writes, as a function of (seed, rank, call): the writer and the checker must agree, and
 * nothing but this header tells them.
 *
 * The file is an array of cells. In epoch e cell c belongs to rank (c + e) % ranks; a barrier separates
 * epochs, so that ranks overwrite each other in a known order. A call writes `count` cells of its rank, from
 * the first-th on; every call gives its cells a version of its own, which rises over the epochs. A byte of a
 * cell tells cell and version. */
#pragma once

#include <stdint.h>

enum { kCellBytes = 1312, kCells = 6000, kCallsPerEpoch = 40, kEpochsPerOpen = 3, kMaxRanks = 64 };

static inline uint64_t crash_mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

enum crash_kind { kCollective, kIndependent, kNonblocking, kLargeIndependent };

struct crash_call {
  enum crash_kind kind;
  int first; /* in cells of this rank */
  int count; /* cells; 0 in a collective call without data */
};

static inline int crash_cells_of(int place, int ranks) { return (kCells - place + ranks - 1) / ranks; }

/* place: the lowest cell of the rank in this epoch. Whether a call is collective is the same on all ranks. */
static inline int crash_place(int rank, int ranks, uint64_t epoch) {
  return (int)(((uint64_t)rank + ranks - epoch % (uint64_t)ranks) % (uint64_t)ranks);
}

static inline struct crash_call crash_call_of(uint64_t seed, int rank, int ranks, uint64_t number) {
  const uint64_t common = crash_mix(seed ^ crash_mix(number));
  const uint64_t own = crash_mix(common + 1 + (uint64_t)rank);
  struct crash_call call;
  const int cells = crash_cells_of(crash_place(rank, ranks, number / kCallsPerEpoch), ranks);
  if (common % 2)
    call.kind = kCollective;
  else
    call.kind = own % 8 == 0 ? kLargeIndependent : own % 8 < 3 ? kNonblocking : kIndependent;
  const int most = call.kind == kLargeIndependent ? cells / 4 : 24;
  call.count = (int)((own >> 8) % (uint64_t)(most + 1));
  call.first = (int)((own >> 32) % (uint64_t)(cells - call.count + 1));
  return call;
}

static inline uint64_t crash_version(uint64_t number) { return number + 1; }

static inline uint8_t crash_byte(uint64_t cell, uint64_t version, int byte) {
  return (uint8_t)(crash_mix(cell * 0x100000001ull + version * 977 + (uint64_t)(byte / 8)) >> (byte % 8 * 8));
}

/* One per rank, in a shared mapping: a store is there even when the process is killed right after it. */
struct crash_progress {
  volatile uint64_t started;      /* calls that were begun */
  volatile uint64_t acknowledged; /* calls that have returned */
  volatile uint64_t pid;
  volatile uint64_t finished; /* the last close has returned */
  volatile uint64_t closing;  /* 1 within MPI_File_close */
  volatile uint64_t failed;   /* 1: a call has returned an error */
};

/* Ranks whose log is lost; none where last < first. */
struct crash_lost {
  int first, last;
};
