/* Ranks that are not the first of their host write past the log, as all do after a nonblocking collective
 * write, and ranks on other hosts read it after a barrier. The first ranks, which answer for their hosts,
 * never write. The file stays, the same in every run. Rank 0 prints the number of hosts. Usage:
 * past_log_hosts FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { SHARE = 1000000, ROUNDS = 20 };

static unsigned char byte_at(long long offset, int version) {
  return (unsigned char)(offset * 7 + offset / 251 + version * 101);
}

static void fill(unsigned char* data, int owner, int version) {
  for (int i = 0; i < SHARE; ++i) data[i] = byte_at((long long)owner * SHARE + i, version);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int hosts = count_hosts();
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  unsigned char* data = malloc(SHARE);
  unsigned char* wanted = malloc(SHARE);
  const int owner = (rank + ranks / 2) % ranks | 1; /* of another host, where there are two */
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
            MPI_SUCCESS,
        "open");
  const int logged = is_logged(file);
  MPI_Request started = MPI_REQUEST_NULL;
  check(MPI_File_iwrite_at_all(file, 0, data, 0, MPI_BYTE, &started) == MPI_SUCCESS, "iwrite_at_all");
  MPI_Wait(&started, MPI_STATUS_IGNORE);
  for (int round = 0; round < ROUNDS; ++round) {
    fill(data, rank, round);
    if (rank % 2 == 1)
      check(MPI_File_write_at(file, (MPI_Offset)rank * SHARE, data, SHARE, MPI_BYTE, MPI_STATUS_IGNORE) ==
                MPI_SUCCESS,
            "write_at");
    MPI_Barrier(MPI_COMM_WORLD);
    if (logged && owner < ranks) {
      memset(data, 0, SHARE);
      check(MPI_File_read_at(file, (MPI_Offset)owner * SHARE, data, SHARE, MPI_BYTE, MPI_STATUS_IGNORE) ==
                MPI_SUCCESS,
            "read_at");
      fill(wanted, owner, round);
      check(memcmp(data, wanted, SHARE) == 0, "what another rank has written before the barrier");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  free(data);
  free(wanted);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
