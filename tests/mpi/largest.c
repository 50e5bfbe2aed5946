/* Writes beyond the largest size that the file system lets a file have are errors of the calls themselves,
 * and take nothing from what is written before and after. Checks itself; the files that stay in DIRECTORY are
 * the same in every run. Usage: largest DIRECTORY [within]; within: no such write is tried, for the libraries
 * write some of it. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <unistd.h>

#include "checks.h"

static MPI_File file;

static MPI_Offset largest_size(void) {
  const int fd = open(path_of("target"), O_RDWR);
  MPI_Offset most = 0;
  if (lseek(fd, INT64_MAX, SEEK_SET) == INT64_MAX) most = INT64_MAX;
  for (MPI_Offset step = (MPI_Offset)1 << 62; step > 0 && most < INT64_MAX; step /= 2)
    if (lseek(fd, most + step, SEEK_SET) == most + step) most += step;
  close(fd);
  return most;
}

static void refused(int code, const char* what) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  check(class == MPI_ERR_IO, what);
}

static void write_beyond(MPI_Offset most) {
  const int values[4] = {1, 2, 3, 4};
  refused(MPI_File_write_at(file, most, values, 1, MPI_INT, MPI_STATUS_IGNORE), "write_at behind the end");
  /* Its last filetype ends in a hole, which may lie there. */
  MPI_Datatype strided;
  MPI_Type_create_resized(MPI_INT, 0, 1 << 20, &strided);
  MPI_Type_commit(&strided);
  const MPI_Offset start = most / (1 << 20) * (1 << 20) - (1 << 20);
  check(MPI_File_set_view(file, start, MPI_INT, strided, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  refused(MPI_File_write_at(file, 0, values, 4, MPI_INT, MPI_STATUS_IGNORE), "strided write_at over the end");
  check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "set_view back");
  MPI_Type_free(&strided);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  directory = argv[1];
  check(MPI_File_open(MPI_COMM_WORLD, path_of("target"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS,
        "open");
  write_int(file, rank, 10 + rank);
  const MPI_Offset most = largest_size();
  if (most < INT64_MAX && argc == 2) write_beyond(most);
  write_int(file, ranks + rank, 20 + rank);
  check(read_int(file, rank) == 10 + rank, "what was written before");
  check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  return conclude();
}
