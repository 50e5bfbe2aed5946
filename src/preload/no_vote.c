#include "preload/no_vote.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/names.h"
#include "preload/roll_names.h"
#include "preload/vote.h"

/* MPI_Allreduce and its handles, as this family passes them. */
static pmio_function allreduce;
static pmio_word integer, least;
static struct pmio_library library;

static pthread_mutex_t voting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_voted = PTHREAD_COND_INITIALIZER;
static int voted; /* guarded by voting */

/* A thread, until the others have voted, too. */
static void* tell_of_waiting(void* nothing) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PMIO_VOTE_PATIENCE_SECONDS;
  pthread_mutex_lock(&voting);
  int code = 0;
  while (!voted && code == 0) code = pthread_cond_timedwait(&has_voted, &voting, &until);
  if (!voted) dprintf(STDERR_FILENO, "pmio: " PMIO_VOTE_WAITS "\n");
  pthread_mutex_unlock(&voting);
  return nothing;
}

/* Such a thread, which takes none of the program's signals. Not 0: it runs. */
static int start_telling(pthread_t* thread) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(thread, NULL, &tell_of_waiting, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code == 0;
}

static void vote(void) {
  /* One of these ranks has pmio, mostly, where others have not and will never come. */
  pthread_t thread;
  const int tells = (pmio_has_rank("0") || pmio_has_rank("1")) && start_telling(&thread);
  const enum pmio_roll roll = pmio_roll_by_names(&library);
  const int no[PMIO_VOTES] = {0};
  int all[PMIO_VOTES];
  if (roll == PMIO_ROLL_UNKNOWN || roll == PMIO_ROLL_ALL)
    allreduce((pmio_word)no, (pmio_word)all, PMIO_VOTES, integer, least, library.world);
  if (!tells) return;
  pthread_mutex_lock(&voting);
  voted = 1;
  pthread_cond_signal(&has_voted);
  pthread_mutex_unlock(&voting);
  pthread_join(thread, NULL);
}

/* MPI_Init may call PMPI_Init, or a profiler's MPI_Init between them, and both come here. */
static int initialising;

#define PMIO_PARAMETERS pmio_word a, pmio_word b, pmio_word c, pmio_word d, pmio_word e, pmio_word f
#define PMIO_VOTE_AFTER(name)                               \
  static pmio_function behind_##name;                       \
  static pmio_word and_vote_##name(PMIO_PARAMETERS) {       \
    const int outermost = !initialising;                    \
    initialising = 1;                                       \
    if (outermost) pmio_roll_count();                       \
    const pmio_word code = behind_##name(a, b, c, d, e, f); \
    if (outermost) initialising = 0;                        \
    if (outermost && (int)code == 0) vote();                \
    if (outermost) pmio_roll_forget();                      \
    return code;                                            \
  }
PMIO_VOTE_AFTER(MPI_Init)
PMIO_VOTE_AFTER(PMPI_Init)
PMIO_VOTE_AFTER(MPI_Init_thread)
PMIO_VOTE_AFTER(PMPI_Init_thread)

static const struct Voting {
  const char* name;
  pmio_function* behind;
  pmio_function then;
} kVoting[] = {{"MPI_Init", &behind_MPI_Init, &and_vote_MPI_Init},
               {"PMPI_Init", &behind_PMPI_Init, &and_vote_PMPI_Init},
               {"MPI_Init_thread", &behind_MPI_Init_thread, &and_vote_MPI_Init_thread},
               {"PMPI_Init_thread", &behind_PMPI_Init_thread, &and_vote_PMPI_Init_thread}};

/* The handles are those of MPICH's ABI, of MPI 4.2's, and Open MPI's, which are the addresses of objects. */
static int know_handles(const char* family, void* (*find)(const char*)) {
  allreduce = (pmio_function)find("PMPI_Allreduce");
  library.find = find;
  if (family == NULL || allreduce == NULL) return 0;
  if (strcmp(family, "openmpi") == 0) {
    integer = (pmio_word)find("ompi_mpi_int");
    least = (pmio_word)find("ompi_mpi_op_min");
    library.world = (pmio_word)find("ompi_mpi_comm_world");
    library.self = (pmio_word)find("ompi_mpi_comm_self");
    library.no_info = (pmio_word)find("ompi_mpi_info_null");
    return integer != 0 && least != 0 && library.world != 0;
  }
  const int standard = strcmp(family, "abi") == 0;
  integer = standard ? 0x209 : 0x4c000405;
  least = standard ? 0x22 : 0x58000002;
  library.world = standard ? 0x101 : 0x44000000;
  library.self = standard ? 0x102 : 0x44000001;
  library.no_info = standard ? 0x130 : 0x1c000000;
  return 1;
}

pmio_function pmio_voting(const char* name, pmio_function next, const char* family,
                          void* (*find)(const char*)) {
  for (size_t i = 0; i < sizeof kVoting / sizeof *kVoting; ++i) {
    if (next == NULL || strcmp(name, kVoting[i].name) != 0 || !know_handles(family, find)) continue;
    *kVoting[i].behind = next;
    return kVoting[i].then;
  }
  return next;
}
