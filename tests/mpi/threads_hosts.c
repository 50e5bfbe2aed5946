/* Several threads of each rank make collective and independent calls at once, on any number of hosts: each on
 * a file and a communicator of its own, which barriers alone order; then three on one file, two by one
 * handle, the third by one that it opens and closes while the other is in use. The threads are not in step,
 * so that the ranks' calls come in different orders. Every byte is checked. What is read has pages of its
 * own, and is read when all is written: a network file system's client may have a page that it has read
 * cached for a second. The files stay, NAME-0, NAME-1 and so on, the same in every run. Rank 0 prints the
 * number of hosts. Usage: threads_hosts NAME [turns]. turns: one thread after the other, for MPI libraries
 * that keep a lock while they wait for other ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks.h"

enum {
  THREADS = 4,
  PIECE = 1312,
  PAGE = 4096,
  CALLS = 12, /* of a round */
  ROUNDS = 4,
  AREA = 2 << 20,      /* of a round */
  SHARED = THREADS,    /* number of the file of three threads */
  TURNS_OF_SECOND = 3, /* opens of the second handle */
};

struct worker {
  MPI_Comm comm;
  MPI_File file;  /* opened by the main thread, if it is */
  unsigned state; /* of its pauses */
};

static const char* name;
static int in_turns;

static unsigned char byte_at(long long offset, int version) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 101);
}

static void fill(unsigned char* data, long long offset, int version) {
  for (int i = 0; i < PIECE; ++i) data[i] = byte_at(offset + i, version);
}

static void expect(MPI_File file, long long offset, int version, const char* what) {
  unsigned char data[PIECE], wanted[PIECE];
  MPI_Status status;
  int count = -1;
  memset(data, 0, sizeof data);
  fill(wanted, offset, version);
  check(MPI_File_read_at(file, offset, data, PIECE, MPI_BYTE, &status) == MPI_SUCCESS, "read_at");
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == PIECE && memcmp(data, wanted, PIECE) == 0, what);
}

/* Up to 4 ms, another one on each rank and in each thread. */
static void pause_a_bit(struct worker* self) {
  if (in_turns) return;
  self->state = self->state * 1103515245 + 12345;
  const struct timespec some = {0, (long)(self->state >> 16 & 1023) * 4000};
  nanosleep(&some, NULL);
}

static MPI_File opened(MPI_Comm comm, int number) {
  char path[4096];
  MPI_File file = MPI_FILE_NULL;
  snprintf(path, sizeof path, "%s-%d", name, number);
  check(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "open");
  return file;
}

/* Piece `call` of a round that starts at base, by the rank that writes it. */
static long long place_of(long long base, int call, int writer) {
  return base + ((long long)call * ranks + writer) * PAGE;
}

/* Each version by other ranks than the one before, so that the later one must win on any node. */
static int writer_of(int version, int of_rank) { return (of_rank + version) % ranks; }

static void write_together(struct worker* self, MPI_File file, long long base, int version) {
  unsigned char data[PIECE];
  for (int call = 0; call < CALLS; ++call) {
    const long long offset = place_of(base, call, writer_of(version, rank));
    fill(data, offset, version);
    check(MPI_File_write_at_all(file, offset, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at_all");
    pause_a_bit(self);
  }
}

/* Twice; the second time's version is `version`. */
static void write_round(struct worker* self, MPI_File file, long long base, int version) {
  write_together(self, file, base, version - 1);
  MPI_Barrier(self->comm);
  write_together(self, file, base, version);
}

static void write_alone(MPI_File file, long long base, int version) {
  unsigned char data[PIECE];
  const long long offset = place_of(base, 0, writer_of(version, rank));
  fill(data, offset, version);
  check(MPI_File_write_at(file, offset, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at");
}

static void read_call(MPI_File file, long long base, int call, int version, const char* what) {
  for (int writer = 0; writer < ranks; ++writer) expect(file, place_of(base, call, writer), version, what);
}

static void read_round(MPI_File file, long long base, int version, const char* what) {
  for (int call = 0; call < CALLS; ++call) read_call(file, base, call, version, what);
}

static void own_file(struct worker* self) {
  for (int round = 0; round < ROUNDS; ++round) {
    const long long base = (long long)round * AREA;
    write_round(self, self->file, base, 1);
    MPI_Barrier(self->comm);
    write_alone(self->file, base, 2);
    MPI_Barrier(self->comm);
    read_call(self->file, base, 0, 2, "what each rank wrote alone, after a barrier");
    for (int call = 1; call < CALLS; ++call)
      read_call(self->file, base, call, 1, "what all ranks wrote together, after a barrier");
    if (round == 1) check(MPI_File_sync(self->file) == MPI_SUCCESS, "sync");
  }
}

static void first_handle(struct worker* self) {
  for (int round = 0; round < ROUNDS; ++round) {
    const long long base = (long long)round * AREA;
    write_round(self, self->file, base, 1);
    MPI_Barrier(self->comm);
    read_round(self->file, base, 1, "what was written by the first of two handles, after a barrier");
  }
}

/* By the same handle meanwhile, behind what the others write. */
static void first_handle_alone(struct worker* self) {
  for (int round = 0; round < ROUNDS; ++round) {
    const long long base = (long long)(ROUNDS + TURNS_OF_SECOND + round) * AREA;
    write_alone(self->file, base, round);
    MPI_Barrier(self->comm);
    read_call(self->file, base, 0, round, "what each rank wrote alone, beside other threads");
    pause_a_bit(self);
  }
}

/* Behind what the first handle writes. */
static void second_handle(struct worker* self) {
  for (int turn = 0; turn < TURNS_OF_SECOND; ++turn) {
    MPI_File file = opened(self->comm, SHARED);
    const long long base = (long long)(ROUNDS + turn) * AREA;
    write_together(self, file, base, turn);
    check(MPI_File_sync(file) == MPI_SUCCESS, "sync of the second handle");
    MPI_Barrier(self->comm);
    check(MPI_File_sync(file) == MPI_SUCCESS, "sync of the second handle");
    read_round(file, base, turn, "what was written by the second of two handles, after sync, barrier, sync");
    check(MPI_File_close(&file) == MPI_SUCCESS, "close of the second handle");
  }
}

struct task {
  struct worker* worker;
  void (*work)(struct worker*);
};

static void* run(void* argument) {
  const struct task* task = argument;
  task->work(task->worker);
  return NULL;
}

static void at_once(struct task* tasks, int count) {
  pthread_t threads[THREADS];
  for (int i = 0; i < count; ++i) {
    if (in_turns)
      run(&tasks[i]);
    else
      check(pthread_create(&threads[i], NULL, run, &tasks[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < count && !in_turns; ++i) pthread_join(threads[i], NULL);
}

/* Opened and closed by the main thread: see threads.c. */
static void own_files(struct worker* workers) {
  struct task tasks[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    tasks[i] = (struct task){&workers[i], own_file};
    workers[i].file = opened(workers[i].comm, i);
  }
  at_once(tasks, THREADS);
  for (int i = 0; i < THREADS; ++i) check(MPI_File_close(&workers[i].file) == MPI_SUCCESS, "close");
}

static void two_handles(struct worker* workers) {
  struct task tasks[] = {
      {&workers[0], first_handle}, {&workers[1], second_handle}, {&workers[2], first_handle_alone}};
  workers[0].file = workers[2].file = opened(workers[0].comm, SHARED);
  at_once(tasks, 3);
  check(MPI_File_close(&workers[0].file) == MPI_SUCCESS, "close");
}

int main(int argc, char** argv) {
  struct worker workers[THREADS];
  int provided = -1;
  if (argc != 2 && argc != 3) return 2;
  name = argv[1];
  in_turns = argc == 3;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
  const int hosts = count_hosts();
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (struct worker){.state = (unsigned)(rank * THREADS + i)};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  own_files(workers);
  two_handles(workers);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&workers[i].comm);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
