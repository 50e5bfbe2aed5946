/* A loop that sets a view before each collective write, as programs of rows do (h5py, and HDF5 in general,
 * twice for each write), or that writes the same records by explicit offsets. Where a turn's time goes, of
 * rank 0: mean wall and CPU time of each call. mpicc -O2 view_loop.c; mpiexec -n 2 a.out FILE TURNS
 * view|offset */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { DOUBLES = 164 };

struct spent {
  double wall, cpu;
};

static struct spent now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  const struct spent spent = {MPI_Wtime(),
                              (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                  (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6};
  return spent;
}

static void add(struct spent* sum, struct spent since) {
  const struct spent until = now();
  sum->wall += until.wall - since.wall;
  sum->cpu += until.cpu - since.cpu;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int turns = atoi(argv[2]), by_view = strcmp(argv[3], "view") == 0;
  double record[DOUBLES] = {0};
  struct spent views = {0, 0}, writes = {0, 0};
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < turns; i++) {
    const MPI_Offset place = (MPI_Offset)(i * ranks + rank) * (MPI_Offset)sizeof record;
    struct spent begin = now();
    if (by_view) MPI_File_set_view(file, place, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    add(&views, begin);
    begin = now();
    if (by_view)
      MPI_File_write_all(file, record, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE);
    else
      MPI_File_write_at_all(file, place, record, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE);
    add(&writes, begin);
  }
  MPI_File_close(&file);
  if (rank == 0)
    printf("set_view %.1f us (CPU %.1f), write %.1f us (CPU %.1f)\n", views.wall / turns * 1e6,
           views.cpu / turns * 1e6, writes.wall / turns * 1e6, writes.cpu / turns * 1e6);
  MPI_Finalize();
  return 0;
}
