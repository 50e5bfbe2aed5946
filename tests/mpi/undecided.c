/* Files behind small ones: the MPI library has them until they turn out not to be small. They are written and
 * read on both sides of that moment, by one rank alone and by all together, by all kinds of pointers, and the
 * files stay in DIRECTORY. Usage: undecided DIRECTORY */
#include <dirent.h>

#include "checks.h"

enum { SMALL = 10, TURNS = 8, LOOKS_AGAIN = 32, MANY = 32, TOO_MANY = 128, LARGE_BYTES = 100000 };

static MPI_Comm comm;
static int together, logs;

static const char* name_of(const char* kind, int number) {
  char name[256];
  snprintf(name, sizeof name, "%s-%s-%d-%d", together ? "all" : "own", kind, together ? 0 : rank, number);
  return path_of(name);
}

static MPI_File opened_with(MPI_Info info, const char* kind, int number, int more) {
  MPI_File file;
  check(MPI_File_open(comm, name_of(kind, number), MPI_MODE_CREATE | MPI_MODE_RDWR | more, info, &file) ==
            MPI_SUCCESS,
        "open");
  return file;
}

/* Large pieces are to be logged. */
static MPI_File opened(const char* kind, int number, int more) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_direct_from", "off");
  MPI_File file = opened_with(info, kind, number, more);
  MPI_Info_free(&info);
  return file;
}

static void closed(MPI_File file) { check(MPI_File_close(&file) == MPI_SUCCESS, "close"); }

static int place(int turn) { return together ? turn * ranks + rank : turn; }

static void write_turn(MPI_File file, int turn) {
  const int value = 1000 * turn + rank;
  check(MPI_File_write_at_all(file, 4 * place(turn), &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
}

static void small_ones(void) {
  for (int number = 0; number < SMALL; number++) {
    MPI_File file = opened("small", number, 0);
    write_turn(file, 0);
    closed(file);
  }
}

/* Where it has decided itself, a file says so. */
static void expect(MPI_File file, int logged, const char* what) {
  if (logs) check(is_logged(file) == logged, what);
}

static int jobs_joined(void) {
  int jobs = 0;
  DIR* logs_now = opendir(getenv("PMIO_DIR"));
  const struct dirent* entry;
  while (logs_now != NULL && (entry = readdir(logs_now)) != NULL)
    jobs += strncmp(entry->d_name, "job-", 4) == 0;
  if (logs_now != NULL) closedir(logs_now);
  return jobs;
}

/* More than any file of the library's may have that one rank opens alone. It overwrites what other ranks have
 * written before the barrier. */
static void write_large(MPI_File file) {
  static char bytes[LARGE_BYTES];
  memset(bytes, 'a' + rank, sizeof bytes);
  MPI_Barrier(comm);
  for (int turn = 0; turn < (together ? TURNS : 1); turn++)
    check(MPI_File_write_at_all(file, (MPI_Offset)place(turn) * LARGE_BYTES, bytes, LARGE_BYTES, MPI_CHAR,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "a large write");
}

static void large_one(const char* kind, int number) {
  MPI_File file = opened(kind, number, 0);
  write_large(file);
  expect(file, 1, "a large file is logged");
  closed(file);
}

/* The first files of one rank alone: while they are small the job is not joined. */
static void first_ones(void) {
  small_ones();
  MPI_Barrier(MPI_COMM_WORLD);
  if (logs) check(jobs_joined() == 0, "nobody has joined for small files");
  MPI_Barrier(MPI_COMM_WORLD);
  large_one("first", 0);
  MPI_File file = opened("first", 1, 0);
  expect(file, 1, "what comes behind a large file is logged at once");
  write_turn(file, 0);
  closed(file);
}

/* Of one rank alone: what would go straight to the file anyway does not decide. */
static void large_pieces(void) {
  small_ones();
  MPI_File file = opened_with(MPI_INFO_NULL, "pieces", 0, 0);
  for (int turn = 0; turn < TURNS; turn++) write_large(file);
  expect(file, 0, "a file of large pieces stays with the library");
  for (int turn = 0; turn < TURNS; turn++) write_turn(file, turn);
  expect(file, 1, "small ones behind them are logged");
  write_large(file);
  closed(file);
}

/* So many are open at once, each but the last written before the next is opened, or none; the last is large.
 */
static void open_at_once(const char* kind, int count, int written, int most_logged) {
  static MPI_File files[2 * TOO_MANY];
  int logged = 0;
  large_one(kind, count);
  for (int number = 0; number < count; number++) {
    files[number] = opened(kind, number, 0);
    logged += is_logged(files[number]);
    if (written && number < count - 1) write_turn(files[number], 0);
  }
  if (logs) check(logged >= MANY && logged <= most_logged, "how many that are open are logged");
  write_large(files[count - 1]);
  expect(files[count - 1], 1, "a large file is logged among small ones");
  for (int number = 0; number < count; number++) {
    if (!written && number < count - 1) write_turn(files[number], 1);
    closed(files[number]);
  }
}

static void small_ones_at_once(void) { open_at_once("held", 2 * MANY, 1, MANY + 2); }

static void too_many_at_once(void) {
  open_at_once("unwritten", 2 * TOO_MANY, 0, TOO_MANY + TOO_MANY / LOOKS_AGAIN + 1);
}

static void explicit_offsets(void) {
  MPI_File file = opened("explicit", 0, 0);
  write_turn(file, 0);
  expect(file, 0, "one small call decides nothing");
  for (int turn = 1; turn < TURNS; turn++) write_turn(file, turn);
  expect(file, 1, "many calls are logged");
  for (int turn = 0; turn < TURNS; turn++)
    check(read_int(file, place(turn)) == 1000 * turn + rank, "what is read back");
  closed(file);
}

/* The individual pointer goes on where the library had it. */
static void individual_pointer(void) {
  MPI_File file = opened("individual", 0, 0);
  check(MPI_File_seek(file, 40 * rank * TURNS, MPI_SEEK_SET) == MPI_SUCCESS, "seek");
  for (int turn = 0; turn < TURNS; turn++)
    check(MPI_File_write_all(file, &turn, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  MPI_Offset end = 0;
  MPI_File_get_position(file, &end);
  check(end == 40 * rank * TURNS + 4 * TURNS, "the individual pointer");
  closed(file);
}

static void shared_pointer(void) {
  MPI_File file = opened("shared", 0, 0);
  write_turn(file, 0);
  for (int turn = 1; turn < 4; turn++)
    check(MPI_File_write_ordered(file, &turn, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_ordered");
  expect(file, 1, "the shared pointer decides");
  closed(file);
}

static void view(void) {
  MPI_File file = opened("view", 0, 0);
  write_turn(file, 0);
  check(MPI_File_set_view(file, 400, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  expect(file, 1, "a view decides");
  int value = rank;
  check(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "in a view");
  closed(file);
}

static void split(void) {
  MPI_File file = opened("split", 0, 0);
  for (int turn = 0; turn < TURNS; turn++) {
    check(MPI_File_write_at_all_begin(file, 4 * place(turn), &turn, 1, MPI_INT) == MPI_SUCCESS, "begin");
    check(MPI_File_write_at_all_end(file, &turn, MPI_STATUS_IGNORE) == MPI_SUCCESS, "end");
  }
  expect(file, 1, "split calls count, too");
  closed(file);
}

/* Calls that may not wait for other ranks do not: the second rank begins when the first has called them all.
 */
static void nonblocking(void) {
  MPI_File file = opened("nonblocking", 0, 0);
  static int values[TURNS];
  MPI_Request requests[TURNS];
  MPI_Status statuses[TURNS];
  int token = 0;
  if (together && rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  for (int turn = 0; turn < TURNS; turn++) {
    values[turn] = 1000 * turn + rank;
    check(MPI_File_iwrite_at_all(file, 4 * place(turn), &values[turn], 1, MPI_INT, &requests[turn]) ==
              MPI_SUCCESS,
          "iwrite_at_all");
    if (!together) expect(file, 1, "one nonblocking call of a rank alone decides");
  }
  if (together && rank == 0 && ranks > 1) MPI_Send(&token, 1, MPI_INT, 1, 0, comm);
  check(MPI_Waitall(TURNS, requests, statuses) == MPI_SUCCESS, "waitall");
  write_turn(file, TURNS);
  expect(file, 1, "nonblocking calls count, too");
  for (int turn = 0; turn <= TURNS; turn++)
    check(read_int(file, place(turn)) == 1000 * turn + rank, "what is read back");
  closed(file);
}

/* Who asks for the log gets it, in whatever order ranks say so. */
static void asked_for(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (rank == 0) MPI_Info_set(info, "pmio_mode", "log");
  MPI_File file;
  check(MPI_File_open(comm, name_of("asked", 0), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
        "open");
  MPI_Info_free(&info);
  if (together || rank == 0) expect(file, 1, "pmio_mode=log is logged at once");
  write_turn(file, 0);
  closed(file);
}

/* What was small and written independently tells nothing of the next, when one of them has been logged. */
static void independent(void) {
  for (int number = 0; number <= LOOKS_AGAIN; number++) {
    MPI_File file = opened("independent", number, 0);
    check(MPI_File_write_at(file, 4 * place(0), &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_at");
    if (together && number == LOOKS_AGAIN) expect(file, 1, "independent writes are logged");
    closed(file);
  }
}

/* Two handles of one file, of which only the one turns out to be large. */
static void two_handles(void) {
  MPI_File first = opened("two", 0, 0), second = opened("two", 0, 0);
  for (int turn = 0; turn < TURNS; turn++) write_turn(first, turn);
  MPI_Barrier(comm);
  check(read_int(second, place(TURNS - 1)) == 1000 * (TURNS - 1) + rank, "what the other handle has logged");
  write_turn(second, 0);
  MPI_Barrier(comm);
  check(read_int(first, place(0)) == rank, "what the other handle has written");
  closed(first);
  closed(second);
}

static void append(void) {
  MPI_File file = opened("append", 0, MPI_MODE_APPEND);
  write_turn(file, 0);
  expect(file, 1, "who appends is logged at once");
  for (int turn = 1; turn < TURNS; turn++) write_turn(file, turn);
  closed(file);
}

static void on(MPI_Comm opener, int all) {
  static void (*const kinds[])(void) = {
      explicit_offsets,   individual_pointer, shared_pointer, view,      split,
      nonblocking,        two_handles,        append,         asked_for, independent,
      small_ones_at_once, too_many_at_once};
  comm = opener;
  together = all;
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    small_ones();
    kinds[kind]();
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  logs = getenv("PMIO_DIR") != NULL;
  comm = MPI_COMM_SELF;
  first_ones();
  large_pieces();
  on(MPI_COMM_SELF, 0);
  on(MPI_COMM_WORLD, 1);
  return conclude();
}
