#define _GNU_SOURCE
#include "preload/roll_call.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kClosed = 1 << 30 }; /* beside the number of processes */

static long expected;       /* processes of the job, all on this node; 0: that is not known */
static char name[NAME_MAX]; /* of the shared memory */
static _Atomic int* count;  /* NULL: there is none */

static long number_of(const char* variable) {
  const char* const text = getenv(variable);
  return text == NULL ? 0 : strtol(text, NULL, 10);
}

/* PMIx names a job, and Hydra's process manager holds the other end of a socket that all its processes
 * inherit. */
static int name_by_pmix(void) {
  const char* const job = getenv("PMIX_NAMESPACE");
  if (job == NULL) return 0;
  const int length = snprintf(name, sizeof name, "/pmio-roll-%u-%s", (unsigned)geteuid(), job);
  for (char* letter = name + 1; *letter != '\0'; ++letter) {
    if (*letter == '/') *letter = '-';
  }
  return length < (int)sizeof name;
}

static int name_by_hydra(void) {
  const char* const text = getenv("PMI_FD");
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (text == NULL || getsockopt((int)strtol(text, NULL, 10), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return 0;
  snprintf(name, sizeof name, "/pmio-roll-%u-hydra-%ld", (unsigned)geteuid(), (long)peer.pid);
  return peer.pid > 0;
}

static long know_job(void) {
  static const struct Launcher {
    const char *ranks, *here;
    int (*name_it)(void);
  } known[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", &name_by_pmix},
               {"PMI_SIZE", "MPI_LOCALNRANKS", &name_by_hydra}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const long ranks = number_of(known[i].ranks);
    if (ranks > 1 && ranks < kClosed && ranks == number_of(known[i].here) && known[i].name_it()) return ranks;
  }
  return 0;
}

static int is_ours(int file) {
  struct stat facts;
  return fstat(file, &facts) == 0 && facts.st_uid == geteuid();
}

static _Atomic int* map_count(void) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof *count) return NULL; /* a signal, else */
  const int file = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return NULL;
  /* Reserved, or the first touch of a full file system would be fatal. */
  void* const memory = is_ours(file) && posix_fallocate(file, 0, sizeof *count) == 0
                           ? mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

void pmio_roll_count(void) {
  expected = know_job();
  count = expected == 0 ? NULL : map_count();
  if (count != NULL) atomic_fetch_add(count, 1);
}

/* Closes a count that is not full. */
static enum pmio_roll close_count(void) {
  int present = atomic_load(count);
  while (present < expected) {
    if (atomic_compare_exchange_weak(count, &present, present | kClosed)) return PMIO_ROLL_TO_SAY;
  }
  return (present & kClosed) != 0 ? PMIO_ROLL_SOME_MISSING : PMIO_ROLL_ALL;
}

enum pmio_roll pmio_roll_call(void) {
  if (expected == 0) return PMIO_ROLL_UNKNOWN;
  if (count == NULL) return PMIO_ROLL_SOME_MISSING;
  const enum pmio_roll roll = close_count();
  shm_unlink(name);
  munmap((void*)count, sizeof *count);
  count = NULL;
  return roll;
}
