/* One rank is stopped while the other goes on: rank 0 writes several times what its log holds, and reads it,
 * while rank 1 is stopped with a log of its own. No call of rank 0 needs rank 1, so none may wait for it.
 * COMMAND is run meanwhile. Usage: stopped FILE COMMAND */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = 64 << 10, RECORDS = 400 };

static int go_on_alone(MPI_File file) {
  static unsigned char record[RECORD], found[RECORD];
  int failures = 0;
  for (int i = 0; i < RECORDS; i++) {
    memset(record, i, RECORD);
    failures += MPI_File_write_at(file, (MPI_Offset)2 * i * RECORD, record, RECORD, MPI_BYTE,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS;
  }
  for (int i = 0; i < RECORDS; i++) {
    memset(record, i, RECORD);
    failures += MPI_File_read_at(file, (MPI_Offset)2 * i * RECORD, found, RECORD, MPI_BYTE,
                                 MPI_STATUS_IGNORE) != MPI_SUCCESS;
    failures += memcmp(record, found, RECORD) != 0;
  }
  return failures;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (rank == 1) {
    int pid = getpid();
    static char record[RECORD];
    MPI_File_write_at(file, RECORD, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    int pid;
    MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(300000); /* its background thread is idle by then */
    kill(pid, SIGSTOP);
    failures = go_on_alone(file);
    if (argc == 3 && system(argv[2]) != 0) fprintf(stderr, "stopped: the command failed\n");
    kill(pid, SIGCONT);
    MPI_Send(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    printf("%d failures\n", failures);
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return failures != 0;
}
