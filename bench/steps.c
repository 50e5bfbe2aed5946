/* Where the time of a small collective write goes: the five steps of two-phase I/O as ROMIO takes them, each
 * timed apart (Carneiro et al., "Collective I/O performance on the Santos Dumont supercomputer", 2018, table
 * III); the same of pmio's own engine, as it tells it (pmio_collective_times); and a whole call of the plain
 * MPI library, whose messages nobody outside of it can time.
 *
 *   steps [--bytes B] [--calls N] [--aggregators A] [--file PATH] [--json]
 *
 * `pmio bench steps` runs it. By itself, with any MPI: mpicc -O2 steps.c -o steps -ldl, and then
 * mpiexec -n 4 pmio run -- ./steps. In each call the ranks write one record of B bytes each, one behind the
 * other. A step's time is that of the slowest rank; a barrier is before each call, and none between steps. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARM_UP = 10, STEPS = 6, MOST_CALLS = 100000 };

struct settings {
  int bytes, calls, aggregators, json;
  const char* path;
};

struct job {
  struct settings set;
  int rank, ranks;
  char* record;
  char* buffer;        /* of an aggregator */
  double* times;       /* calls * STEPS */
  MPI_Request* wanted; /* a message from each rank, and one to each aggregator */
  MPI_Status* statuses;
};

static void fail(const char* what) {
  fprintf(stderr, "steps: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1); /* MPICH may return before its launcher ends the job */
}

/* What all ranks find alike, and before they work: the first tells it. MPICH's launcher may lose the words of
 * a rank that calls MPI_Abort right behind them. */
static void refuse(const char* what) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "steps: %s\n", what);
  MPI_Finalize();
  exit(1);
}

static void must(int code, const char* what) {
  if (code != MPI_SUCCESS) fail(what);
}

/* --- the five steps --- */

struct range {
  MPI_Offset begin, end;
};

static struct range own_range(const struct job* j, int call) {
  const MPI_Offset begin = ((MPI_Offset)call * j->ranks + j->rank) * j->set.bytes;
  return (struct range){begin, begin + j->set.bytes};
}

/* What of the whole an aggregator writes. */
static struct range domain(const struct job* j, struct range whole, int aggregator) {
  const MPI_Offset share = (whole.end - whole.begin + j->set.aggregators - 1) / j->set.aggregators;
  struct range part = {whole.begin + share * aggregator, whole.begin + share * (aggregator + 1)};
  if (part.begin > whole.end) part.begin = whole.end;
  if (part.end > whole.end) part.end = whole.end;
  return part;
}

static struct range common(struct range a, struct range b) {
  struct range both = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  if (both.end < both.begin) both.end = both.begin;
  return both;
}

/* The aggregators are spread over the ranks. */
static int rank_of(const struct job* j, int aggregator) {
  return (int)((int64_t)aggregator * j->ranks / j->set.aggregators);
}

static int aggregator_of(const struct job* j, int rank) {
  for (int a = 0; a < j->set.aggregators; a++)
    if (rank_of(j, a) == rank) return a;
  return -1;
}

/* Step 3: offset and length to each aggregator that is concerned. */
static void send_requests(struct job* j, const struct range* all, struct range whole, MPI_Offset (*sent)[2],
                          MPI_Offset (*got)[2]) {
  const int own = aggregator_of(j, j->rank);
  const struct range mine = all[j->rank];
  int count = 0;
  for (int r = 0; own >= 0 && r < j->ranks; r++) {
    const struct range part = common(all[r], domain(j, whole, own));
    if (part.begin < part.end) MPI_Irecv(got[r], 2, MPI_OFFSET, r, 3, MPI_COMM_WORLD, &j->wanted[count++]);
  }
  for (int a = 0; a < j->set.aggregators; a++) {
    const struct range part = common(mine, domain(j, whole, a));
    if (part.begin == part.end) continue;
    sent[a][0] = part.begin;
    sent[a][1] = part.end - part.begin;
    MPI_Isend(sent[a], 2, MPI_OFFSET, rank_of(j, a), 3, MPI_COMM_WORLD, &j->wanted[count++]);
  }
  must(MPI_Waitall(count, j->wanted, j->statuses), "requests");
}

/* Step 4: the bytes. */
static void send_data(struct job* j, const struct range* all, struct range whole, MPI_Offset (*got)[2]) {
  const int own = aggregator_of(j, j->rank);
  const struct range mine = all[j->rank];
  int count = 0;
  for (int r = 0; own >= 0 && r < j->ranks; r++) {
    const struct range part = common(all[r], domain(j, whole, own));
    if (part.begin == part.end) continue;
    MPI_Irecv(j->buffer + (got[r][0] - domain(j, whole, own).begin), (int)got[r][1], MPI_BYTE, r, 4,
              MPI_COMM_WORLD, &j->wanted[count++]);
  }
  for (int a = 0; a < j->set.aggregators; a++) {
    const struct range part = common(mine, domain(j, whole, a));
    if (part.begin < part.end)
      MPI_Isend(j->record + (part.begin - mine.begin), (int)(part.end - part.begin), MPI_BYTE, rank_of(j, a),
                4, MPI_COMM_WORLD, &j->wanted[count++]);
  }
  must(MPI_Waitall(count, j->wanted, j->statuses), "data");
}

static void one_call(struct job* j, MPI_File file, int call, double* times) {
  struct range all[j->ranks], mine = own_range(j, call);
  MPI_Offset sent[j->set.aggregators][2], got[j->ranks][2];
  int64_t requests[2] = {1, j->set.bytes}, sum[2];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  const double ranges = MPI_Wtime();
  MPI_Allreduce(requests, sum, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const double counts = MPI_Wtime();
  const struct range whole = {all[0].begin, all[j->ranks - 1].end};
  send_requests(j, all, whole, sent, got);
  const double asked = MPI_Wtime();
  send_data(j, all, whole, got);
  const double exchanged = MPI_Wtime();
  const int own = aggregator_of(j, j->rank);
  if (own >= 0) {
    const struct range part = domain(j, whole, own);
    if (part.begin < part.end)
      must(MPI_File_write_at(file, part.begin, j->buffer, (int)(part.end - part.begin), MPI_BYTE,
                             MPI_STATUS_IGNORE),
           "write");
  }
  const double written = MPI_Wtime();
  const double took[STEPS] = {ranges - begin,    counts - ranges,     asked - counts,
                              exchanged - asked, written - exchanged, written - begin};
  memcpy(times, took, sizeof took);
}

/* --- files --- */

static MPI_File opened(const struct job* j, const char* mode) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "pmio_mode", mode);
  MPI_Info_set(info, "romio_cb_write", "enable");
  must(MPI_File_open(MPI_COMM_WORLD, j->set.path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
       "the file cannot be opened: --file names another");
  MPI_Info_free(&info);
  return file;
}

static void close_and_remove(const struct job* j, MPI_File* file) {
  MPI_File_close(file);
  if (j->rank == 0) unlink(j->set.path);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void run_steps(struct job* j) {
  MPI_File file = opened(j, "off");
  for (int call = 0; call < WARM_UP; call++) one_call(j, file, call, j->times);
  for (int call = 0; call < j->set.calls; call++) one_call(j, file, call, j->times + (size_t)call * STEPS);
  close_and_remove(j, &file);
}

/* Calls of MPI_File_write_at_all; by an engine that tells them, the parts: ranges and counts, local copies,
 * messages, waiting, the file. */
typedef int times_of(MPI_File file, uint64_t* ns);

static int run_calls(struct job* j, const char* mode, times_of* tell) {
  MPI_File file = opened(j, mode);
  uint64_t before[STEPS] = {0}, after[STEPS] = {0};
  int told = tell != NULL && tell(file, before) == MPI_SUCCESS;
  for (int call = -WARM_UP; call < j->set.calls; call++) {
    double* times = j->times + (size_t)(call < 0 ? 0 : call) * STEPS;
    if (told) tell(file, before);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    must(MPI_File_write_at_all(file, own_range(j, call < 0 ? 0 : call).begin, j->record, j->set.bytes,
                               MPI_BYTE, MPI_STATUS_IGNORE),
         "collective write");
    times[STEPS - 1] = MPI_Wtime() - begin;
    if (told) tell(file, after);
    for (int step = 0; step < STEPS - 1; step++) times[step] = 1e-9 * (double)(after[step] - before[step]);
  }
  close_and_remove(j, &file);
  return told;
}

/* --- the table --- */

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_row(const struct job* j, const char* key, const char* name, int step, int* first) {
  double sorted[j->set.calls];
  for (int call = 0; call < j->set.calls; call++) sorted[call] = j->times[(size_t)call * STEPS + step] * 1e6;
  qsort(sorted, (size_t)j->set.calls, sizeof *sorted, ascending);
  const double median = sorted[j->set.calls / 2], low = sorted[j->set.calls / 4];
  const double high = sorted[j->set.calls * 3 / 4], most = sorted[j->set.calls - 1];
  if (j->set.json)
    printf("%s\"%s\": {\"median_us\": %.3f, \"q1_us\": %.3f, \"q3_us\": %.3f, \"max_us\": %.3f}",
           *first ? "" : ", ", key, median, low, high, most);
  else
    printf("  %-42s %8.1f %8.1f %8.1f %8.1f\n", name, median, low, high, most);
  *first = 0;
}

struct row {
  int step;
  const char *key, *name;
};

static void print_part(const struct job* j, const char* key, const char* title, const struct row* rows,
                       int count) {
  static int parts;
  int first = 1;
  void* const here = j->rank == 0 ? MPI_IN_PLACE : j->times;
  MPI_Reduce(here, j->times, j->set.calls * STEPS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (j->rank != 0) return;
  if (j->set.json)
    printf("%s\"%s\": {", parts++ > 0 ? ",\n " : " ", key);
  else
    printf("\n%s\n", title);
  for (int i = 0; i < count; i++) print_row(j, rows[i].key, rows[i].name, rows[i].step, &first);
  if (j->set.json) printf("}");
}
#define PRINT_PART(j, key, title, rows) print_part(j, key, title, rows, (int)(sizeof rows / sizeof *rows))

static const struct row kSteps[] = {{0, "ranges", "1 ranges (MPI_Allgather)"},
                                    {1, "counts", "2 counts (MPI_Allreduce)"},
                                    {2, "requests", "3 requests (MPI_Isend, MPI_Irecv)"},
                                    {3, "data", "4 data (MPI_Isend, MPI_Irecv)"},
                                    {4, "write", "5 write (MPI_File_write_at)"},
                                    {5, "all", "all five"}};
static const struct row kEngine[] = {{0, "ranges_and_counts", "1, 2 ranges and counts, in one exchange"},
                                     {1, "copies", "4 data: copies in shared memory"},
                                     {2, "messages", "4 data: messages"},
                                     {3, "waiting", "4 data: waiting for other ranks"},
                                     {4, "write", "5 write (pwrite)"},
                                     {5, "all", "the call (3 requests: there are none)"}};
static const struct row kWhole[] = {{5, "all", "the call"}};

static void print_head(const struct job* j) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n\"\\")] = 0;
  for (char* at = version; *at != 0; at++)
    if (*at < ' ') *at = ' ';
  if (j->set.json) {
    printf(
        "{\"format\": \"pmio-steps-1\", \"mpi\": \"%s\", \"ranks\": %d, \"aggregators\": %d, \"bytes\": %d, "
        "\"calls\": %d,\n",
        version, j->ranks, j->set.aggregators, j->set.bytes, j->set.calls);
    return;
  }
  printf("%.60s\n%d calls, %d bytes of each rank; ranks: %d, aggregators: %d\n", version, j->set.calls,
         j->set.bytes, j->ranks, j->set.aggregators);
  printf("Microseconds of the slowest rank: %19s %8s %8s %8s\n", "median", "quartile", "quartile", "most");
}

/* --- settings --- */

static int number_of(const char* text, int least, int most) {
  char* end = NULL;
  const long value = text == NULL ? 0 : strtol(text, &end, 10);
  if (text == NULL || *end != 0 || value < least || value > most) refuse("an option has a wrong value");
  return (int)value;
}

/* One for each node. */
static int nodes(void) {
  MPI_Comm node;
  int rank = 0, first, all = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  first = rank == 0;
  MPI_Allreduce(&first, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static struct settings settings_of(int argc, char** argv, int ranks) {
  struct settings set = {1312, 400, 0, 0, "pmio-steps.tmp"};
  for (int i = 1; i < argc; i++) {
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--json") == 0) {
      set.json = 1;
      continue;
    }
    if (strcmp(argv[i], "--bytes") == 0)
      set.bytes = number_of(value, 1, 16 << 20);
    else if (strcmp(argv[i], "--calls") == 0)
      set.calls = number_of(value, 1, MOST_CALLS);
    else if (strcmp(argv[i], "--aggregators") == 0)
      set.aggregators = number_of(value, 1, ranks);
    else if (strcmp(argv[i], "--file") == 0 && value != NULL)
      set.path = value;
    else
      refuse("an option is unknown");
    i++;
  }
  if (set.aggregators == 0) set.aggregators = nodes();
  return set;
}

/* It is written anew, and removed. */
static void refuse_file(const struct job* j) {
  int there = j->rank == 0 && access(j->set.path, F_OK) == 0;
  MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (there) refuse("the file is there already: --file names another");
}

int main(int argc, char** argv) {
  struct job j;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
  j.set = settings_of(argc, argv, j.ranks);
  j.record = calloc(1, (size_t)j.set.bytes);
  j.buffer = calloc((size_t)j.ranks, (size_t)j.set.bytes);
  j.times = calloc((size_t)j.set.calls * STEPS, sizeof *j.times);
  const size_t messages = (size_t)j.ranks + (size_t)j.set.aggregators;
  j.wanted = calloc(messages, sizeof *j.wanted);
  j.statuses = calloc(messages, sizeof *j.statuses);
  if (j.record == NULL || j.buffer == NULL || j.times == NULL || j.wanted == NULL || j.statuses == NULL)
    fail("no memory");
  refuse_file(&j);
  if (j.rank == 0) print_head(&j);
  run_steps(&j);
  PRINT_PART(&j, "steps", "Two-phase, step by step", kSteps);
  times_of* tell = NULL;
  *(void**)&tell = dlsym(RTLD_DEFAULT, "pmio_collective_times");
  if (run_calls(&j, "twophase", tell))
    PRINT_PART(&j, "pmio", "pmio_mode=twophase, as the engine tells it", kEngine);
  else if (j.rank == 0 && !j.set.json)
    printf("\npmio's engine did not serve this job\n");
  run_calls(&j, "off", NULL);
  PRINT_PART(&j, "plain", "The MPI library's own MPI_File_write_at_all", kWhole);
  if (j.rank == 0 && j.set.json) printf("}\n");
  free(j.record);
  free(j.buffer);
  free(j.times);
  free(j.wanted);
  free(j.statuses);
  return MPI_Finalize();
}
