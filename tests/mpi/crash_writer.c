/* Writes self-describing cells until it is killed or done, telling after each call that it has returned.
 *
 *   crash_writer write PROGRESS FILE SEED CALLS [ABORT_AT]
 *                                                    under mpiexec; one rank calls MPI_Abort before that call
 *   crash_writer die PROGRESS FILE SEED CALLS ABORT_AT
 *                                                    as write, and the rank kills itself instead
 *   crash_writer cut PROGRESS FILE SEED CALLS        under mpiexec: see crash_cut.c
 *   crash_writer check PROGRESS FILE SEED RANKS [FIRST LAST]
 *                                                    alone: is every acknowledged write in the file? Those of
 *                                                    the ranks from FIRST to LAST may be lost
 *
 * PROGRESS is an existing file of kMaxRanks struct crash_progress. check exits with 0, or says what is wrong.
 */
#include "crash_writer.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crash_cut.h"

int crash_check(const struct crash_progress* progress, const char* path, uint64_t seed, int ranks,
                struct crash_lost lost);

struct writer {
  struct crash_progress* mine;
  const char* path;
  uint64_t seed, calls, abort_at; /* abort_at: not below calls where nobody aborts */
  int dies;                       /* the rank that is to abort kills itself */
  int rank, ranks;
  MPI_File file;
  unsigned char* buffer;
};

static struct crash_progress* map_progress(const char* path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  void* map =
      fd < 0 ? MAP_FAILED
             : mmap(0, kMaxRanks * sizeof(struct crash_progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) {
    perror(path);
    exit(2);
  }
  close(fd);
  return map;
}

static void give_up(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code); /* MPICH 5 comes back, and the call would be told as acknowledged */
}

static void must(const struct writer* w, int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  w->mine->failed = 1;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "%s: %s\n", what, text);
  give_up(3);
}

static void fill(const struct writer* w, struct crash_call call, uint64_t number) {
  const uint64_t place = (uint64_t)crash_place(w->rank, w->ranks, number / kCallsPerEpoch);
  for (int i = 0; i < call.count; i++) {
    const uint64_t cell = place + (uint64_t)(call.first + i) * (uint64_t)w->ranks;
    for (int byte = 0; byte < kCellBytes; byte++)
      w->buffer[(size_t)i * kCellBytes + (size_t)byte] = crash_byte(cell, crash_version(number), byte);
  }
}

static void write_call(struct writer* w, uint64_t number) {
  const struct crash_call call = crash_call_of(w->seed, w->rank, w->ranks, number);
  fill(w, call, number);
  const int bytes = call.count * kCellBytes;
  MPI_Status status;
  w->mine->started = number + 1;
  if (call.kind == kCollective) {
    must(w, MPI_File_write_at_all(w->file, call.first, w->buffer, bytes, MPI_BYTE, &status), "write_at_all");
  } else if (call.kind == kNonblocking) {
    MPI_Request request;
    must(w, MPI_File_iwrite_at(w->file, call.first, w->buffer, bytes, MPI_BYTE, &request), "iwrite_at");
    MPI_Wait(&request, &status);
  } else {
    must(w, MPI_File_write_at(w->file, call.first, w->buffer, bytes, MPI_BYTE, &status), "write_at");
  }
  w->mine->acknowledged = number + 1;
}

static void close_file(struct writer* w) {
  w->mine->closing = 1;
  must(w, MPI_File_close(&w->file), "close");
  w->mine->closing = 0;
}

/* An etype is a cell; this rank's cells lie `ranks` apart. */
static void set_view(struct writer* w, MPI_Datatype cell, uint64_t epoch) {
  MPI_Datatype strided;
  MPI_Type_create_resized(cell, 0, (MPI_Aint)kCellBytes * w->ranks, &strided);
  MPI_Type_commit(&strided);
  const MPI_Offset displacement = (MPI_Offset)crash_place(w->rank, w->ranks, epoch) * kCellBytes;
  must(w, MPI_File_set_view(w->file, displacement, cell, strided, "native", MPI_INFO_NULL), "set_view");
  MPI_Type_free(&strided);
}

static void write_all_calls(struct writer* w) {
  MPI_Info info;
  MPI_Info_create(&info);
  /* So that plain MPI-IO is right too: its data sieving loses other ranks' bytes. */
  MPI_Info_set(info, "romio_ds_write", "disable");
  MPI_Info_set(info, "romio_cb_write", "disable");
  MPI_Datatype cell;
  MPI_Type_contiguous(kCellBytes, MPI_BYTE, &cell);
  MPI_Type_commit(&cell);
  const uint64_t epochs = w->calls / kCallsPerEpoch;
  for (uint64_t epoch = 0; epoch < epochs; epoch++) {
    if (epoch % kEpochsPerOpen == 0)
      must(w, MPI_File_open(MPI_COMM_WORLD, w->path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &w->file),
           "open");
    set_view(w, cell, epoch);
    for (uint64_t i = 0; i < kCallsPerEpoch; i++) {
      if (epoch * kCallsPerEpoch + i == w->abort_at && w->seed % (uint64_t)w->ranks == (uint64_t)w->rank)
        w->dies ? (void)raise(SIGKILL) : give_up(3);
      write_call(w, epoch * kCallsPerEpoch + i);
    }
    if (epoch % 5 == 4) must(w, MPI_File_sync(w->file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    if (epoch % kEpochsPerOpen == kEpochsPerOpen - 1 || epoch + 1 == epochs) close_file(w);
  }
  w->mine->finished = 1;
  MPI_Type_free(&cell);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  if (argc < 6 || argc > 8) {
    fprintf(stderr,
            "usage: crash_writer write|die|cut|cut-handles PROGRESS FILE SEED CALLS [ABORT_AT] | check "
            "PROGRESS FILE "
            "SEED RANKS [FIRST LAST]\n");
    return 2;
  }
  struct crash_progress* progress = map_progress(argv[2]);
  const uint64_t seed = strtoull(argv[4], 0, 10);
  if (strcmp(argv[1], "check") == 0) {
    const struct crash_lost lost = {argc == 8 ? atoi(argv[6]) : 0, argc == 8 ? atoi(argv[7]) : -1};
    return crash_check(progress, argv[3], seed, atoi(argv[5]), lost);
  }

  struct writer w = {.path = argv[3], .seed = seed, .calls = strtoull(argv[5], 0, 10)};
  w.dies = strcmp(argv[1], "die") == 0;
  w.abort_at = argc == 7 ? strtoull(argv[6], 0, 10) : w.calls;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  if (w.ranks > kMaxRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  w.mine = &progress[w.rank];
  w.mine->pid = (uint64_t)getpid();
  if (strncmp(argv[1], "cut", 3) == 0) {
    crash_cut(w.mine, w.path, seed, w.calls, strcmp(argv[1], "cut-handles") == 0);
    MPI_Finalize();
    return 0;
  }
  w.buffer = malloc((size_t)kCells * kCellBytes);
  if (!w.buffer) MPI_Abort(MPI_COMM_WORLD, 2);
  write_all_calls(&w);
  free(w.buffer);
  MPI_Finalize();
  return 0;
}
