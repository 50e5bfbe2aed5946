#define _GNU_SOURCE
#include "preload/roll_call.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload/roll_nodes.h"

enum {
  kClosed = 1 << 30, /* beside the number of processes */
  kFull = 1 << 29,   /* likewise: that was exactly as many as are expected */
  kMostRanks = 1 << 28,
  kCollectingMs = 4000, /* of roll_nodes.h. MPI_Init ends in all processes at about the same time */
  kPatienceMs = 8000,   /* longer, so that mostly rank 0's leader decides */
  kLongestJob = 100,
  kLongestCommand = 4096
};

/* In the memory that the processes of a node share. */
struct Count {
  _Atomic int present;
  _Atomic int verdict; /* over all nodes, of the process that has asked: a pmio_roll and 1; 0: not yet */
  int ranks[];         /* as many as are expected here, in the order of their counting */
};

static struct Own {
  long rank, ranks, here; /* of the processes of the job, those on this node; here 0: that is not known */
  long manager;           /* process number of what started it on this node; 0: that is not known */
  char job[kLongestJob];  /* what no other job of this launcher is called */
  char memory[NAME_MAX];  /* the shared memory's name */
  struct Count* count;    /* NULL: there is none */
  int is_counted;         /* as one of those that are expected */
} own;

static long number_of(const char* variable) {
  const char* const text = getenv(variable);
  return text == NULL ? 0 : strtol(text, NULL, 10);
}

/* Adds to the job's name what a launcher would take in a name, of a long text its end. */
static void add_to_job(const char* text) {
  const size_t used = strlen(own.job), length = strlen(text), room = sizeof own.job / 2 - 1;
  if (used + room >= sizeof own.job) return;
  snprintf(own.job + used, sizeof own.job - used, "%s%s", used == 0 ? "" : "-",
           length > room - 1 ? text + length - (room - 1) : text);
  for (char* letter = own.job + used; *letter != '\0'; ++letter) {
    if (strchr("/: =@", *letter) != NULL) *letter = '-';
  }
}

/* PMIx names a job. */
static int name_by_pmix(void) {
  const char* const space = getenv("PMIX_NAMESPACE");
  if (space != NULL) add_to_job(space);
  return space != NULL;
}

/* The words of a process's command, each with its 0, and one more 0 behind them. */
static void read_command(long process, char command[kLongestCommand + 2]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/cmdline", process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? 0 : read(file, command, kLongestCommand);
  if (file >= 0) close(file);
  memset(command + (length > 0 ? length : 0), 0, 2);
}

/* Hydra's process manager of this node holds the other end of a socket that all its processes inherit. Its
 * command names the launcher's port, which is this job's alone for its time. Intel MPI's does not, but has
 * the group of processes in a variable, and a launcher answers only its own job, if it was given no server of
 * names that outlives it. What MPI_Comm_spawn starts may have the same manager as its parent. */
static int name_by_hydra(void) {
  const char* const text = getenv("PMI_FD");
  const char* const group = getenv("HYDRA_BSTRAP_PGID");
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (text == NULL || getenv("PMI_SPAWNED") != NULL ||
      getsockopt((int)strtol(text, NULL, 10), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return 0;
  char command[kLongestCommand + 2];
  read_command(peer.pid, command);
  for (const char* word = command; *word != '\0'; word += strlen(word) + 1) {
    if (strcmp(word, "--control-port") == 0) add_to_job(word + strlen(word) + 1);
  }
  if (own.job[0] == '\0') add_to_job(group == NULL ? "hydra" : group);
  own.manager = peer.pid;
  return peer.pid > 0;
}

static void know_job(void) {
  static const struct Launcher {
    const char *rank, *ranks, *here;
    int (*name_it)(void);
  } known[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", &name_by_pmix},
               {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", &name_by_hydra}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    own.rank = number_of(known[i].rank);
    own.ranks = number_of(known[i].ranks);
    own.here = number_of(known[i].here);
    if (own.ranks > 1 && own.ranks < kMostRanks && own.here > 0 && own.here <= own.ranks &&
        known[i].name_it())
      return;
  }
  own.here = 0;
}

static int is_ours(int file) {
  struct stat facts;
  return fstat(file, &facts) == 0 && facts.st_uid == geteuid();
}

static struct Count* map_count(void) {
  const off_t bytes = (off_t)(sizeof *own.count + (size_t)own.here * sizeof *own.count->ranks);
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < (rlim_t)bytes) return NULL; /* a signal, else */
  const int file = shm_open(own.memory, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return NULL;
  /* Reserved, or the first touch of a full file system would be fatal. */
  void* const memory = is_ours(file) && posix_fallocate(file, 0, bytes) == 0
                           ? mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

void pmio_roll_count(void) {
  know_job();
  if (own.here == 0) return;
  snprintf(own.memory, sizeof own.memory, "/pmio-roll-%u-%ld-%s", (unsigned)geteuid(), own.manager, own.job);
  own.count = map_count();
  if (own.count == NULL) return;
  const int before = atomic_fetch_add(&own.count->present, 1);
  own.is_counted = before < own.here;
  if (own.is_counted) own.count->ranks[before] = (int)own.rank;
}

/* Closes a count that is not exactly full. The first to come says how it stood, for all. */
static enum pmio_roll close_count(void) {
  int present = atomic_load(&own.count->present);
  while ((present & (kClosed | kFull)) == 0) {
    const int as_it_stands = present == own.here ? kFull : kClosed;
    if (atomic_compare_exchange_weak(&own.count->present, &present, present | as_it_stands))
      return as_it_stands == kFull ? PMIO_ROLL_ALL : PMIO_ROLL_TO_SAY;
  }
  return (present & kFull) != 0 ? PMIO_ROLL_ALL : PMIO_ROLL_SOME_MISSING;
}

static int compare(const void* left, const void* right) {
  const int a = *(const int*)left, b = *(const int*)right;
  return (a > b) - (a < b);
}

/* Who asks the other nodes for this one: of a complete node its lowest rank. present: of this node. */
static enum pmio_roll ask_other_nodes(const struct pmio_board* board, int present) {
  if (board == NULL) return PMIO_ROLL_SOME_MISSING;
  int* const here = malloc((size_t)present * sizeof *here);
  if (here == NULL) return PMIO_ROLL_SOME_MISSING;
  memcpy(here, own.count->ranks, (size_t)present * sizeof *here);
  qsort(here, (size_t)present, sizeof *here, &compare);
  const struct pmio_node_roll node = {own.job, here, present, (int)own.ranks,
                                      own.rank == 0 ? kCollectingMs : kPatienceMs};
  const enum pmio_roll roll =
      present == own.here ? pmio_roll_nodes(board, &node) : pmio_roll_incomplete(board, &node);
  free(here);
  return roll;
}

static int is_leader(void) {
  for (long i = 0; i < own.here; ++i) {
    if (own.count->ranks[i] < own.rank) return 0;
  }
  return 1;
}

/* One process of the node asks. The others may be many, and sleep meanwhile. */
static enum pmio_roll call_all_nodes(const struct pmio_board* board, enum pmio_roll here) {
  const int present = atomic_load(&own.count->present) & ~(kClosed | kFull);
  const int asks = here == PMIO_ROLL_TO_SAY || (here == PMIO_ROLL_ALL && is_leader());
  if (asks) {
    /* A node with more than belong to it is as incomplete. */
    const int most = here == PMIO_ROLL_ALL ? (int)own.here : present < own.here ? present : (int)own.here - 1;
    const enum pmio_roll roll = most == 0 ? PMIO_ROLL_TO_SAY : ask_other_nodes(board, most);
    atomic_store(&own.count->verdict, 1 + (int)roll);
    return roll;
  }
  const struct timespec pause = {0, 200000};
  int verdict = 0;
  while ((verdict = atomic_load(&own.count->verdict)) == 0) nanosleep(&pause, NULL);
  return verdict - 1 == PMIO_ROLL_TO_SAY ? PMIO_ROLL_SOME_MISSING : (enum pmio_roll)(verdict - 1);
}

static enum pmio_roll call_counted(const struct pmio_board* board) {
  const enum pmio_roll here = close_count();
  return own.here == own.ranks ? here : call_all_nodes(board, here);
}

/* Of a process that could not count itself. */
static enum pmio_roll call_uncounted(const struct pmio_board* board) {
  const int nobody_knows =
      own.here < own.ranks && board != NULL && !pmio_roll_has_names(board, own.job, (int)own.rank);
  return nobody_knows ? PMIO_ROLL_UNKNOWN : PMIO_ROLL_SOME_MISSING;
}

void pmio_roll_forget(void) {
  if (own.count == NULL) return;
  shm_unlink(own.memory);
  munmap(own.count, sizeof *own.count + (size_t)own.here * sizeof *own.count->ranks);
  own.count = NULL;
}

enum pmio_roll pmio_roll_call(const struct pmio_board* board, int ranks) {
  if (own.here == 0) return PMIO_ROLL_UNKNOWN;
  if (own.count != NULL) shm_unlink(own.memory); /* all have mapped it */
  /* What the variables told may be of a job that has started this one. */
  const int is_of_this_job = ranks == 0 || ranks == own.ranks;
  enum pmio_roll roll = PMIO_ROLL_UNKNOWN;
  if (is_of_this_job) roll = own.is_counted ? call_counted(board) : call_uncounted(board);
  pmio_roll_forget();
  return roll;
}
