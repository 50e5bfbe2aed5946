/* The least that an MPI program does: it starts, opens, writes (8 bytes per rank) and closes a file where it
 * is given one, and ends. Each rank prints a line of JSON: the CPU time of its whole process, and the wall
 * time of each step. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double wall_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void write_file(const char* path) {
  int rank;
  char bytes[8] = "12345678";
  MPI_File file;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) !=
          MPI_SUCCESS ||
      MPI_File_write_at(file, rank * 8, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
      MPI_File_close(&file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  const double begun = wall_ms();
  MPI_Init(&argc, &argv);
  const double started = wall_ms();
  if (argc > 1) write_file(argv[1]);
  const double written = wall_ms();
  MPI_Finalize();
  char line[200];
  const int length = snprintf(
      line, sizeof line, "{\"cpu_ms\": %.3f, \"init_ms\": %.3f, \"file_ms\": %.3f, \"finalize_ms\": %.3f}\n",
      cpu_ms(), started - begun, written - started, wall_ms() - written);
  return write(STDOUT_FILENO, line, (size_t)length) == length ? 0 : 1; /* whole, beside the other ranks' */
}
