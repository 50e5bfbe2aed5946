/* Several threads of each rank use files at once: one handle, handles of their own on one file, files of
 * their own, and files of all ranks in whose collective calls no rank's threads have the order of another's.
 * Every byte is checked; what threads may write in any order is checked as a set. The files that stay in
 * DIRECTORY are the same in every run, so that runs with and without pmio can be compared. Usage:
 * threads DIRECTORY funneled|serialized|multiple [blocking] [in_turn]. Exits with 77 where the MPI has no
 * such level. blocking: no nonblocking calls, with which Open MPI 5's own I/O crashes. in_turn: no two
 * collective calls at once, in which MPICH's own holds a lock. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 12, SHARING = 3, BLOCKS = 100, INTS = 100, BLOCK_BYTES = INTS * 4 };

static int rank, ranks, level, only_blocking, in_turn;
static const char* directory;
static int failures;
static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;

struct worker {
  int number; /* of this rank's threads */
  void (*work)(struct worker* self);
  MPI_File file, own; /* shared by the threads; this thread's */
  MPI_Comm self, all; /* this thread's, of this rank and of all */
  MPI_Datatype tile;  /* new: no thread has used it yet */
};

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "threads: rank %d: %s\n", rank, what);
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

/* Around each call of MPI where threads must take turns. */
static void enter(void) {
  if (level == MPI_THREAD_SERIALIZED) pthread_mutex_lock(&serial);
}
static int leave(int code) {
  if (level == MPI_THREAD_SERIALIZED) pthread_mutex_unlock(&serial);
  return code == MPI_SUCCESS;
}
#define CALL(call) (enter(), leave(call))

static int value_of(int block, int i) { return block * 100003 + i * 7 + 1; }

static void fill(int* values, int block) {
  for (int i = 0; i < INTS; i++) values[i] = value_of(block, i);
}

static int is_block(const int* values, int block) {
  for (int i = 0; i < INTS; i++) {
    if (values[i] != value_of(block, i)) return 0;
  }
  return 1;
}

/* Block b of the thread lies between those of the other threads and ranks. */
static int block_of(const struct worker* self, int b) { return (b * THREADS + self->number) * ranks + rank; }

static MPI_File opened(MPI_Comm comm, const char* name, int number) {
  char path[4096];
  MPI_File file = MPI_FILE_NULL;
  snprintf(path, sizeof path, "%s/%s-%d", directory, name, number);
  check(CALL(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)), "open");
  return file;
}

static void read_back(MPI_File file, MPI_Offset offset, int block) {
  int values[INTS];
  MPI_Status status;
  int count = -1;
  memset(values, 0, sizeof values);
  check(CALL(MPI_File_read_at(file, offset, values, INTS, MPI_INT, &status)), "read_at");
  MPI_Get_count(&status, MPI_INT, &count);
  check(count == INTS && is_block(values, block), "what is read back");
}

/* All threads through one handle: plain, nonblocking, and from memory of a type that all use first at once.
 */
static void one_handle(struct worker* self) {
  int values[2 * INTS];
  for (int b = 0; b < BLOCKS; b++) {
    const int block = block_of(self, b);
    const MPI_Offset at = (MPI_Offset)block * BLOCK_BYTES;
    fill(values, block);
    if (b % 3 == 0 && !only_blocking) {
      MPI_Request request;
      check(CALL(MPI_File_iwrite_at(self->file, at, values, INTS, MPI_INT, &request)), "iwrite_at");
      check(CALL(MPI_Wait(&request, MPI_STATUS_IGNORE)), "wait");
    } else if (b % 3 == 1) {
      for (int i = INTS - 1; i >= 0; i--) values[2 * i] = values[i];
      check(CALL(MPI_File_write_at(self->file, at, values, INTS, self->tile, MPI_STATUS_IGNORE)),
            "write_at of every other int");
    } else {
      check(CALL(MPI_File_write_at(self->file, at, values, INTS, MPI_INT, MPI_STATUS_IGNORE)), "write_at");
    }
    if (b % 5 == 0) read_back(self->file, at, block);
  }
  for (int b = 0; b < BLOCKS; b += 7) {
    const int block = block_of(self, b);
    read_back(self->file, (MPI_Offset)block * BLOCK_BYTES, block);
  }
}

/* A handle per thread on one file, opened and closed by the main thread: MPI libraries keep a lock while they
 * wait for other ranks, so that collective calls of several threads at once can stop each other. */
static MPI_File open_strided(const struct worker* self) {
  MPI_File file = opened(MPI_COMM_WORLD, "several_handles", 0);
  MPI_Datatype block, strided;
  MPI_Type_contiguous(INTS, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK_BYTES * ranks * THREADS, &strided);
  MPI_Type_commit(&strided);
  const MPI_Offset first = (MPI_Offset)block_of(self, 0) * BLOCK_BYTES;
  check(MPI_File_set_view(file, first, MPI_INT, strided, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  MPI_Type_free(&strided);
  MPI_Type_free(&block);
  return file;
}

static void own_handles(struct worker* self) {
  int values[INTS];
  for (int b = 0; b < BLOCKS; b++) {
    fill(values, block_of(self, b));
    check(CALL(MPI_File_write(self->own, values, INTS, MPI_INT, MPI_STATUS_IGNORE)), "write");
  }
  for (int b = 0; b < BLOCKS; b += 3) read_back(self->own, (MPI_Offset)b * INTS, block_of(self, b));
}

/* Files of one thread, opened and closed while the other threads do the same. */
static void own_files(struct worker* self) {
  int values[INTS];
  for (int turn = 0; turn < 5; turn++) {
    const int number = (turn * THREADS + self->number) * ranks + rank;
    MPI_File file = opened(self->self, "own", number);
    for (int b = 0; b < 20; b++) {
      fill(values, number + b);
      check(CALL(MPI_File_write(file, values, INTS, MPI_INT, MPI_STATUS_IGNORE)), "write to an own file");
    }
    for (int b = 0; b < 20; b++) read_back(file, (MPI_Offset)b * BLOCK_BYTES, number + b);
    check(CALL(MPI_File_close(&file)), "close of an own file");
  }
}

/* Files of all ranks, one for each thread: whichever calls of other threads come between, what the ranks of a
 * file tell each other reaches that file. */
static void shared_files(struct worker* self) {
  const int mine = self->number * ranks + rank;
  MPI_File file = self->own;
  if (self->number >= SHARING) return; /* each that waits for other ranks takes a processor */
  for (int turn = 0; turn < 5; turn++) {
    const MPI_Offset disp = (MPI_Offset)turn * ranks * BLOCK_BYTES;
    int values[INTS];
    check(MPI_File_set_view(file, disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS,
          "set_view of a shared file");
    fill(values, mine + turn);
    check(MPI_File_write_ordered(file, values, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_ordered to a shared file");
    read_back(file, (MPI_Offset)rank * INTS, mine + turn);
  }
}

/* By one pointer: whose block comes where is open, but each is there once. */
static void by_pointer(struct worker* self) {
  int values[INTS];
  for (int b = 0; b < BLOCKS; b++) {
    fill(values, self->number * BLOCKS + b);
    check(CALL(MPI_File_write(self->file, values, INTS, MPI_INT, MPI_STATUS_IGNORE)), "write by one pointer");
  }
}

static void check_set(MPI_File file) {
  int values[INTS], seen[THREADS * BLOCKS] = {0};
  for (int b = 0; b < THREADS * BLOCKS; b++) {
    check(MPI_File_read_at(file, (MPI_Offset)b * BLOCK_BYTES, values, INTS, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS,
          "read_at");
    const int block = (values[0] - 1) / 100003;
    if (block >= 0 && block < THREADS * BLOCKS && is_block(values, block)) seen[block]++;
  }
  for (int b = 0; b < THREADS * BLOCKS; b++) check(seen[b] == 1, "a block by one pointer that is there once");
}

static void* run_worker(void* argument) {
  struct worker* self = argument;
  self->work(self);
  return NULL;
}

static void on_all_threads(struct worker* workers, void (*work)(struct worker*), MPI_File file) {
  pthread_t threads[THREADS];
  MPI_Datatype tile;
  MPI_Type_create_resized(MPI_INT, 0, 8, &tile);
  MPI_Type_commit(&tile);
  const int threaded = level >= MPI_THREAD_SERIALIZED;
  for (int i = 0; i < THREADS; i++) {
    workers[i].work = work;
    workers[i].file = file;
    workers[i].tile = tile;
    if (threaded)
      check(pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0, "pthread_create");
    else
      work(&workers[i]);
  }
  for (int i = 0; threaded && i < THREADS; i++) pthread_join(threads[i], NULL);
  MPI_Type_free(&tile);
}

static void several_handles(struct worker* workers) {
  for (int i = 0; i < THREADS; i++) workers[i].own = open_strided(&workers[i]);
  on_all_threads(workers, own_handles, MPI_FILE_NULL);
  for (int i = 0; i < THREADS; i++) check(MPI_File_close(&workers[i].own) == MPI_SUCCESS, "close");
}

static void one_pointer(struct worker* workers) {
  char path[4096];
  MPI_File file = opened(MPI_COMM_SELF, "by_pointer", rank);
  on_all_threads(workers, by_pointer, file);
  check_set(file);
  MPI_File_close(&file);
  snprintf(path, sizeof path, "%s/by_pointer-%d", directory, rank);
  check(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS, "delete");
}

static void several_shared(struct worker* workers) {
  for (int i = 0; i < SHARING; i++) workers[i].own = opened(workers[i].all, "shared", i);
  for (int i = 0; in_turn && i < SHARING; i++) shared_files(&workers[i]);
  if (!in_turn) on_all_threads(workers, shared_files, MPI_FILE_NULL);
  for (int i = 0; i < SHARING; i++)
    check(MPI_File_close(&workers[i].own) == MPI_SUCCESS, "close of a shared file");
}

static void run_all(void) {
  struct worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i].number = i;
    MPI_Comm_dup(MPI_COMM_SELF, &workers[i].self);
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].all);
  }
  MPI_File file = opened(MPI_COMM_WORLD, "one_handle", 0);
  for (int round = 0; round < 3; round++) on_all_threads(workers, one_handle, file);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  several_handles(workers);
  on_all_threads(workers, own_files, MPI_FILE_NULL);
  one_pointer(workers);
  if (level == MPI_THREAD_MULTIPLE) several_shared(workers);
  for (int i = 0; i < THREADS; i++) {
    MPI_Comm_free(&workers[i].self);
    MPI_Comm_free(&workers[i].all);
  }
}

static int wanted_level(const char* name) {
  if (strcmp(name, "funneled") == 0) return MPI_THREAD_FUNNELED;
  return strcmp(name, "serialized") == 0 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (int i = 3; i < argc; i++) {
    only_blocking |= strcmp(argv[i], "blocking") == 0;
    in_turn |= strcmp(argv[i], "in_turn") == 0;
  }
  directory = argv[1];
  level = wanted_level(argv[2]);
  int provided = -1, all = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided >= level) run_all();
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (provided < level) return 77;
  return all != 0;
}
