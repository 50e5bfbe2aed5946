/* Writes more than the file system of FILE holds and reports what MPI says: "write CLASS" for the first write
 * that fails, "close CLASS" for the close; 0 where all went well. The bytes are position-derived, so that a
 * recovery can be checked. COMMAND is run by one rank's shell between the last write and the close.
 * Usage: full_target FILE BYTES [COMMAND] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORD = 4096 };

static int class_of(int code) {
  int class = 0;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

static const char* name_of(int class) {
  return class == 0                     ? "none"
         : class == MPI_ERR_NO_SPACE    ? "no space"
         : class == MPI_ERR_QUOTA       ? "quota"
         : class == MPI_ERR_IO          ? "io"
         : class == MPI_ERR_ACCESS      ? "access"
         : class == MPI_ERR_FILE_IN_USE ? "in use"
                                        : "other";
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long long bytes = argc >= 3 ? atoll(argv[2]) : 0;
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    fprintf(stderr, "full_target: cannot open %s\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int first_error = 0;
  unsigned char record[RECORD];
  for (long long at = (long long)rank * RECORD; at < bytes; at += (long long)ranks * RECORD) {
    for (int i = 0; i < RECORD; i++) record[i] = (unsigned char)((at + i) / 251 + (at + i) * 3);
    const int code = MPI_File_write_at(file, at, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS && first_error == 0) first_error = class_of(code);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc == 4 && rank == 0 && system(argv[3]) != 0) fprintf(stderr, "full_target: the command failed\n");
  MPI_Barrier(MPI_COMM_WORLD);
  const int close_error = class_of(MPI_File_close(&file));
  const int mine[3] = {first_error == MPI_ERR_NO_SPACE, close_error == MPI_ERR_NO_SPACE,
                       first_error || close_error};
  int any[3];
  MPI_Reduce(mine, any, 3, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  const int worst = first_error != 0 ? first_error : close_error;
  int class = 0;
  MPI_Reduce(&worst, &class, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("no_space at write %d, at close %d, any error %d\n", any[0], any[1], any[2]);
    printf("class: %s\n", name_of(class));
  }
  MPI_Finalize();
  return 0;
}
