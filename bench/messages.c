/* What a message of the MPI library costs within a node and between nodes: ping-pong between rank 0 and
 * another rank of its node, and between rank 0 and a rank of another node.
 *
 *   messages [--rounds N] [--seconds S]
 *
 * `pmio calibrate` runs it, once per rank, and fits T_s + T_w * bytes to each round. By itself, with any MPI:
 * mpicc -O2 messages.c -o messages, and then mpiexec -n 2 ./messages. A round has all sizes; a time is half
 * of a round trip, the median of 7 means over as many as fit into S seconds: what takes a processor away for
 * a moment spoils one of them. Output: one line of JSON from rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 7, MOST_BYTES = 1 << 20, BATCHES = 7, MOST_TRIPS = 150, MOST_ROUNDS = 100 };
static const int kSizes[SIZES] = {8, 1024, 8192, 65536, 262144, 524288, MOST_BYTES};

static void fail(const char* what) {
  fprintf(stderr, "messages: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1); /* MPICH may return before its launcher ends the job */
}

/* What all ranks find alike, and before they work: the first tells it. MPICH's launcher may lose the words of
 * a rank that calls MPI_Abort right behind them. */
static void refuse(const char* what) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "messages: %s\n", what);
  MPI_Finalize();
  exit(1);
}

/* Seconds of so many, of the first rank. */
static double trips(int rank, int peer, char* data, int bytes, int count) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_BYTE, rank == 0 ? peer : 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

static int by_value(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

/* Both take part with the number that the first one has found. */
static double one_size(int rank, int peer, char* data, int bytes, double seconds) {
  double batches[BATCHES];
  const double first = trips(rank, peer, data, bytes, 4) / 4;
  const double most = seconds / BATCHES;
  int count = first * MOST_TRIPS < most ? MOST_TRIPS : (int)(most / first);
  if (count < 1) count = 1;
  if (rank == 0)
    MPI_Send(&count, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
  else
    MPI_Recv(&count, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < BATCHES; i++) batches[i] = trips(rank, peer, data, bytes, count) / count / 2;
  qsort(batches, BATCHES, sizeof *batches, by_value);
  return batches[BATCHES / 2];
}

/* Prints a list of rounds, each a list of times; or null if there is no such rank. */
static void ping_pong(int rank, int peer, char* data, int rounds, double seconds, const char* name) {
  if (rank == 0) printf(", \"%s\": %s", name, peer < 0 ? "null" : "[");
  for (int round = -1; peer >= 0 && round < rounds; round++) { /* one to warm up */
    double times[SIZES] = {0};
    for (int i = 0; (rank == 0 || rank == peer) && i < SIZES; i++)
      times[i] = one_size(rank, peer, data, kSizes[i], seconds / SIZES / (rounds + 1));
    for (int i = 0; rank == 0 && round >= 0 && i < SIZES; i++)
      printf("%s%.9f", i > 0 ? ", " : round > 0 ? ", [" : "[", times[i]);
    if (rank == 0 && round >= 0) printf("]");
  }
  if (rank == 0 && peer >= 0) printf("]");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The lowest ranks of the node of rank 0, and of another; -1: there is none. */
static void find_peers(int rank, int ranks, int* within, int* between, int* nodes) {
  MPI_Comm node;
  int first, size = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  int* firsts = malloc((size_t)ranks * sizeof *firsts);
  if (firsts == NULL) fail("no memory");
  MPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, MPI_COMM_WORLD);
  *within = *between = -1;
  *nodes = 0;
  for (int i = ranks - 1; i > 0; i--) *(firsts[i] == 0 ? within : between) = i;
  for (int i = 0; i < ranks; i++) *nodes += firsts[i] == i;
  free(firsts);
}

static void print_head(int ranks, int nodes) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n\"\\")] = 0;
  for (char* at = version; *at != 0; at++)
    if (*at < ' ') *at = ' ';
  printf("{\"format\": \"pmio-messages-1\", \"mpi\": \"%.80s\", \"ranks\": %d, \"nodes\": %d, \"bytes\": [",
         version, ranks, nodes);
  for (int i = 0; i < SIZES; i++) printf("%s%d", i > 0 ? ", " : "", kSizes[i]);
  printf("]");
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0, within, between, nodes, rounds = 9;
  double seconds = 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--rounds") == 0)
      rounds = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--seconds") == 0)
      seconds = atof(argv[i + 1]);
    else
      refuse("an option is unknown");
  }
  if (rounds < 1 || rounds > MOST_ROUNDS || !(seconds > 0 && seconds < 1000))
    refuse("an option has a wrong value");
  char* data = calloc(1, MOST_BYTES);
  if (data == NULL) fail("no memory");
  find_peers(rank, ranks, &within, &between, &nodes);
  if (rank == 0) print_head(ranks, nodes);
  ping_pong(rank, within, data, rounds, seconds, "within");
  ping_pong(rank, between, data, rounds, seconds, "between");
  if (rank == 0) printf("}\n");
  free(data);
  return MPI_Finalize();
}
