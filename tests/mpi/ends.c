// Writes a block per rank to FILE and ends in one of many ways, the file still open: ends FILE WAY.
//
// Each block is BLOCK bytes of 'a', 'b', ... by rank; what comes behind (late, forked) is the way's own. A
// way whose name begins with one_ is rank 0's alone: the others sleep until they are ended.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 5000, PATIENCE = 60 };

static int rank, ranks;
static MPI_File file;
static char* program;
static const char* path;

static void put(long at, char value) {
  static char block[BLOCK];
  memset(block, value, sizeof block);
  MPI_File_write_at(file, (MPI_Offset)at * BLOCK, block, BLOCK, MPI_CHAR, MPI_STATUS_IGNORE);
}

static void end_well(void) {
  MPI_File_close(&file);
  MPI_Finalize();
}

static void put_late(void) { put(ranks + rank, 'L'); }

static void exit_in_handler(int number) {
  (void)number;
  exit(0);
}

static volatile sig_atomic_t told;
static void (*before)(int);
static void pass_on(int number) {
  told = 1;
  if (before != SIG_DFL && before != SIG_IGN) before(number);
}

// Children that end in the ways of children, and one that writes to its parent's file.
static void fork_children(void) {
  fflush(stdout);
  for (int way = 0; way < 4; way++) {
    const pid_t child = fork();
    if (child == 0) {
      if (way == 0) exit(0);
      if (way == 1) _exit(0);
      if (way == 2) execlp("true", "true", (char*)NULL);
      put(ranks + rank, 'F');
      exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) printf("child %d: status %d\n", way, status);
  }
  if (system("true") != 0) printf("system\n");
}

// The job dies and leaves a process behind, which outlives it.
static void leave_daemon(void) {
  if (rank == 0) {
    int started[2];
    char none = 0;
    fflush(stdout);
    if (pipe(started) != 0) exit(1);
    if (fork() == 0) {
      if (write(started[1], &none, 1) != 1) _exit(1);
      setsid();
      for (int fd = 0; fd < 3; fd++) close(fd);
      sleep(PATIENCE);
      _exit(0);
    }
    if (read(started[0], &none, 1) != 1) exit(1); /* it has left fork */
  }
  MPI_Barrier(MPI_COMM_WORLD);
  kill(getpid(), SIGKILL);
}

static int end(const char* way) {
  char* words[] = {program, "said", NULL};
  if (strcmp(way, "return") == 0) return 0;
  if (strcmp(way, "exit") == 0) exit(0);
  if (strcmp(way, "exit_in_handler") == 0) {
    signal(SIGUSR1, exit_in_handler);
    raise(SIGUSR1);
  }
  if (strcmp(way, "late") == 0) {
    atexit(put_late);
    exit(0);
  }
  if (strcmp(way, "close_late") == 0) {
    atexit(end_well);
    exit(0);
  }
  if (strcmp(way, "quick_exit") == 0) quick_exit(0);
  if (strcmp(way, "_exit") == 0) _exit(0);
  if (strcmp(way, "_Exit") == 0) _Exit(0);
  if (strcmp(way, "execv") == 0) execv(program, words);
  if (strcmp(way, "execl") == 0) execl(program, program, "said", (char*)NULL);
  if (strcmp(way, "failed_exec") == 0) {
    execvp("/nowhere/at/all", words);
    put(ranks + rank, 'L');
    end_well();
    return 0;
  }
  if (strcmp(way, "mpi_abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "term") == 0) kill(getpid(), SIGTERM);
  if (strcmp(way, "own_handler") == 0) {
    before = signal(SIGTERM, pass_on);
    raise(SIGTERM);
    if (!told) printf("the program's handler was not called\n");
    end_well();
    return 0;
  }
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "forked") == 0) {
    fork_children();
    end_well();
    return 0;
  }
  if (strcmp(way, "daemon") == 0) leave_daemon();
  sleep(PATIENCE);  // until the signal comes
  return 1;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "said") == 0) return 0;
  if (argc != 3) return 2;
  program = argv[0];
  path = argv[1];
  const char* way = argv[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  put(rank, (char)('a' + rank));
  MPI_Barrier(MPI_COMM_WORLD);
  if (strncmp(way, "one_", 4) != 0) return end(way);
  if (rank == 0) return end(way + 4);
  sleep(PATIENCE);
  return 1;
}
