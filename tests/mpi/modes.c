/* Handles of one file with different pmio_mode, open at the same time and one after the other: each sees what
 * the others have written, and the last writer wins. Checks itself; the files that stay in DIRECTORY are the
 * same in every run. Usage: modes DIRECTORY */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks.h"

enum { COUNT = 3000 }; /* ints of each rank */
static const char* const kModes[] = {"log", "independent", "twophase", "buffered", "gathered", "off", "auto"};
enum { MODES = sizeof kModes / sizeof *kModes };
static int under_pmio, values[COUNT];

static MPI_File opened(const char* name, int amode, const char* mode, const char* close) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  const int buffered = strcmp(mode, "buffered") == 0; /* over calls */
  const int gathered = strcmp(mode, "gathered") == 0; /* of a log */
  MPI_Info_set(info, "pmio_mode", buffered ? "twophase" : gathered ? "log" : mode);
  if (gathered) MPI_Info_set(info, "pmio_gather", "on");
  if (buffered) MPI_Info_set(info, "pmio_cb_buffering", "on");
  if (buffered) MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "pmio_close", close);
  check(MPI_File_open(MPI_COMM_WORLD, path_of(name), amode, info, &file) == MPI_SUCCESS, "open");
  MPI_Info_free(&info);
  return file;
}

static const char* in_force(MPI_File file, const char* key) {
  static char value[64];
  MPI_Info info;
  int found = 0;
  value[0] = 0;
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, key, sizeof value - 1, value, &found);
  MPI_Info_free(&info);
  return value;
}

static const char* mode_of(MPI_File file) { return in_force(file, "pmio_mode"); }

static void wait_for_all(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Each rank takes every so many ints. */
static void set_view(MPI_File file) {
  MPI_Datatype filetype;
  MPI_Type_create_resized(MPI_INT, 0, ranks * (MPI_Aint)sizeof(int), &filetype);
  MPI_Type_commit(&filetype);
  check(MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, filetype, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        "set_view");
  MPI_Type_free(&filetype);
}

static void put(MPI_File file, int value, int together) {
  for (int i = 0; i < COUNT; i++) values[i] = value * 100000 + i;
  check((together ? MPI_File_write_at_all : MPI_File_write_at)(file, 0, values, COUNT, MPI_INT,
                                                               MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write");
  wait_for_all();
}

static void expect(MPI_File file, int value, int together, const char* what) {
  MPI_Status status;
  int got = 0, wrong = 0;
  memset(values, 0, sizeof values);
  check((together ? MPI_File_read_at_all : MPI_File_read_at)(file, 0, values, COUNT, MPI_INT, &status) ==
            MPI_SUCCESS,
        "read");
  MPI_Get_count(&status, MPI_INT, &got);
  for (int i = 0; i < COUNT; i++) wrong += values[i] != value * 100000 + i;
  check(got == COUNT && wrong == 0, what);
  wait_for_all();
}

/* Two handles at once, whichever is closed first. */
static void beside_each_other(const char* first, const char* second, int number) {
  char name[64];
  snprintf(name, sizeof name, "beside-%s-%s", first, second);
  MPI_File a = opened(name, MPI_MODE_CREATE | MPI_MODE_RDWR, first, "complete");
  set_view(a);
  put(a, 1, number % 2);
  MPI_File b = opened(name, MPI_MODE_RDWR, second, "complete");
  set_view(b);
  expect(b, 1, number % 3 == 0, "what was written before the second open");
  put(b, 2, number % 2 == 0);
  expect(a, 2, number % 3 == 1, "what the second handle has written");
  put(a, 3, number % 2);
  expect(b, 3, 1, "what the first handle has written again");
  put(b, 4, 0);
  expect(a, 4, 1, "what the second handle has written alone");
  MPI_Offset size = 0;
  check(MPI_File_set_size(b, COUNT) == MPI_SUCCESS, "set_size");
  check(MPI_File_get_size(a, &size) == MPI_SUCCESS && size == COUNT, "the size after set_size");
  wait_for_all();
  put(a, 5, 1);
  check(MPI_File_get_size(b, &size) == MPI_SUCCESS && size == (MPI_Offset)sizeof(int) * COUNT * ranks,
        "the size after a write");
  check(MPI_File_close(number % 2 ? &a : &b) == MPI_SUCCESS, "close");
  MPI_File rest = number % 2 ? b : a;
  expect(rest, 5, 0, "what is there after the other's close");
  put(rest, 6, 0);
  check(MPI_File_close(&rest) == MPI_SUCCESS, "close");
}

/* A file that is closed in one mode and opened in the other, complete or not. */
static void one_behind_the_other(const char* close) {
  MPI_File file;
  char name[64];
  snprintf(name, sizeof name, "behind-%s", close);
  for (int i = 0; i < 3 * MODES; i++) {
    file = opened(name, MPI_MODE_CREATE | MPI_MODE_RDWR, kModes[i * 2 % MODES], close);
    set_view(file);
    if (i > 0) expect(file, i, 0, "what was written before the close");
    put(file, i + 1, i % 2);
    check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  }
}

static void rank_alone(void) {
  char name[64];
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", "independent");
  snprintf(name, sizeof name, "alone-%d", rank);
  check(MPI_File_open(MPI_COMM_SELF, path_of(name), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) ==
            MPI_SUCCESS,
        "open");
  for (int i = 0; i < 10; i++)
    check(MPI_File_write_shared(file, &i, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_shared");
  check(read_int(file, 9) == 9, "what was written by the shared pointer");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  check(MPI_File_open(MPI_COMM_SELF, path_of(name), MPI_MODE_APPEND | MPI_MODE_WRONLY, info, &file) ==
            MPI_SUCCESS,
        "open to append");
  MPI_Offset position = 0;
  check(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 40, "where an append begins");
  check(MPI_File_write(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "append");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  MPI_Info_free(&info);
}

/* All ranks must give the same; if they do not, nobody hangs, and nothing is lost. */
static void ranks_that_differ(void) {
  MPI_File file =
      opened("differ", MPI_MODE_CREATE | MPI_MODE_RDWR, rank == 0 ? "independent" : "log", "complete");
  if (under_pmio)
    check(strcmp(mode_of(file), ranks > 1 ? "off" : "independent") == 0, "the mode of such a file");
  set_view(file);
  put(file, 7, 1);
  expect(file, 7, 0, "what was written by ranks that differ");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

/* The values that took effect, not those that were wished. */
static void buffered_as_it_says(void) {
  static const char* const kWished[][2] = {{"pmio_mode", "twophase"},    {"cb_nodes", "1000"},
                                           {"pmio_cb_align", "1"},       {"pmio_cb_memory", "pmem"},
                                           {"romio_cb_write", "enable"}, {"cb_config_list", "*:1"}};
  static const char* const kInForce[][2] = {{"pmio_mode", "twophase"},    {"cb_nodes", "1"},
                                            {"pmio_cb_align", "1"},       {"pmio_cb_memory", "pmem"},
                                            {"romio_cb_write", "enable"}, {"romio_cb_read", "automatic"}};
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  for (size_t i = 0; i < sizeof kWished / sizeof *kWished; i++)
    MPI_Info_set(info, kWished[i][0], kWished[i][1]);
  check(MPI_File_open(MPI_COMM_WORLD, path_of("buffered"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) ==
            MPI_SUCCESS,
        "open");
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  for (size_t i = 0; under_pmio && i < sizeof kInForce / sizeof *kInForce; i++) {
    char value[64] = "";
    int found = 0;
    MPI_Info_get(info, kInForce[i][0], sizeof value - 1, value, &found);
    check(found && strcmp(value, kInForce[i][1]) == 0, kInForce[i][0]);
  }
  MPI_Info_free(&info);
  set_view(file);
  put(file, 1, 1);
  expect(file, 1, 1, "what was buffered");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

/* What is buffered over calls is seen by all ranks, by any call, and is in the file after a sync or a close.
 */
static void buffered_over_calls(void) {
  MPI_File file = opened("over-calls", MPI_MODE_CREATE | MPI_MODE_RDWR, "buffered", "complete");
  struct stat facts;
  if (under_pmio) check(strcmp(in_force(file, "pmio_cb_buffering"), "on") == 0, "pmio_cb_buffering");
  if (under_pmio) check(strcmp(mode_of(file), "twophase") == 0, "the mode");
  set_view(file);
  put(file, 1, 1);
  /* A collective call of a stripe or more would be in the file. */
  if (under_pmio)
    check(stat(path_of("over-calls"), &facts) == 0 && facts.st_size == 0, "nothing in the file yet");
  wait_for_all();
  expect(file, 1, 0, "what was buffered, alone");
  expect(file, 1, 1, "what was buffered, together");
  put(file, 2, 0);
  expect(file, 2, 1, "what was written alone over what was buffered");
  put(file, 3, 1);
  expect(file, 3, 0, "what was buffered over what was written alone");
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  wait_for_all();
  const off_t all = (off_t)sizeof values * ranks;
  check(stat(path_of("over-calls"), &facts) == 0 && facts.st_size == all, "all is in the file after a sync");
  wait_for_all();
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

/* In collective calls whose bytes are exchanged: nobody hangs, and the others' bytes are there. */
static void ranks_with_errors_or_nothing(const char* mode) {
  MPI_File file = opened("errors", MPI_MODE_CREATE | MPI_MODE_RDWR, mode, "complete");
  set_view(file);
  for (int i = 0; i < COUNT; i++) values[i] = 900000 + i;
  /* MPI libraries let the others wait for ever. */
  const int wrong = under_pmio ? -1 : 0;
  const int code =
      MPI_File_write_at_all(file, 0, values, rank == 0 ? wrong : COUNT, MPI_INT, MPI_STATUS_IGNORE);
  check((code == MPI_SUCCESS) == (rank != 0 || !under_pmio), "an error on the rank that has made it");
  wait_for_all();
  if (rank != 0) expect(file, 9, 0, "what ranks without an error have written");
  if (rank == 0) wait_for_all();
  check(MPI_File_write_at_all(file, 0, values, rank == 0 ? COUNT : 0, MPI_INT, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS,
        "a write in which one rank has bytes");
  MPI_Request request;
  check(MPI_File_iwrite_at_all(file, 0, values, COUNT, MPI_INT, &request) == MPI_SUCCESS, "iwrite_at_all");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Status status;
  int got = 0;
  for (int i = 0; i < COUNT; i++) values[i] = 800000 + i;
  check(MPI_File_write_at_all_begin(file, 0, values, COUNT, MPI_INT) == MPI_SUCCESS, "begin");
  check(MPI_File_write_at_all_end(file, values, &status) == MPI_SUCCESS, "end");
  MPI_Get_count(&status, MPI_INT, &got);
  check(got == COUNT, "the status of a split call");
  expect(file, 8, 1, "what a split call has written");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

static int count_threads(void) {
  int threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (tasks != NULL && readdir(tasks) != NULL) threads++;
  if (tasks != NULL) closedir(tasks);
  return threads;
}

/* First, before any other mode has been used. */
static void without_a_log(void) {
  MPI_File file = opened("without", MPI_MODE_CREATE | MPI_MODE_RDWR, "independent", "complete");
  const int threads = count_threads();
  if (under_pmio) check(strcmp(mode_of(file), "independent") == 0, "MPI_File_get_info tells the mode");
  set_view(file);
  put(file, 1, 1);
  put(file, 2, 0);
  expect(file, 2, 1, "what was written without a log");
  check(!under_pmio || count_threads() == threads, "no thread more");
  if (under_pmio) {
    struct stat facts;
    check(stat(path_of("without"), &facts) == 0 && facts.st_size == (off_t)sizeof values * ranks,
          "all is in the file at once");
  }
  wait_for_all();
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

/* Early: later the job has its log directory, whatever hints say. */
static void buffers_where_no_log_can_be(void) {
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", "twophase");
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "pmio_cb_memory", "pmem");
  MPI_Info_set(info, "pmio_dir", "/proc/nowhere/logs");
  check(MPI_File_open(MPI_COMM_WORLD, path_of("fallen-back"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) ==
            MPI_SUCCESS,
        "open");
  MPI_Info_free(&info);
  check(!under_pmio || strcmp(in_force(file, "pmio_cb_memory"), "dram") == 0, "what took effect");
  set_view(file);
  put(file, 3, 1);
  expect(file, 3, 1, "what was buffered in memory");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  under_pmio = getenv("PMIO_DIR") != NULL;
  without_a_log();
  buffers_where_no_log_can_be();
  int number = 0;
  for (int i = 0; i < MODES; i++)
    for (int j = 0; j < MODES; j++) beside_each_other(kModes[i], kModes[j], number++);
  one_behind_the_other("complete");
  one_behind_the_other("background");
  rank_alone();
  ranks_that_differ();
  buffered_as_it_says();
  buffered_over_calls();
  ranks_with_errors_or_nothing("twophase");
  ranks_with_errors_or_nothing("buffered");
  ranks_with_errors_or_nothing("gathered");
  return conclude();
}
