/* PETSc's binary viewer with MPI-IO: vectors, sparse and dense matrices, each file also the bytes that the
 * viewer writes without MPI-IO. The ranks have uneven parts; in one case all but the first have none. */
#include <petscmat.h>
#include <petscviewer.h>

#include "client.h"

enum { COLUMNS = 40, BAND = 3, VECTORS = 4 };

static long long stored;

static void succeeded(PetscErrorCode code, const char* what) { must(code == 0, what); }

static PetscInt uneven_rows(void) { return 300 + 57 * rank; }

static PetscInt all_rows(PetscInt own) {
  PetscInt all;
  MPI_Allreduce(&own, &all, 1, MPIU_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static PetscViewer open_viewer(const char* name, PetscFileMode mode, PetscBool mpiio) {
  PetscViewer viewer;
  succeeded(PetscViewerCreate(PETSC_COMM_WORLD, &viewer), "PetscViewerCreate");
  succeeded(PetscViewerSetType(viewer, PETSCVIEWERBINARY), "PetscViewerSetType");
  succeeded(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE), "PetscViewerBinarySetSkipInfo");
  succeeded(PetscViewerBinarySetUseMPIIO(viewer, mpiio), "PetscViewerBinarySetUseMPIIO");
  succeeded(PetscViewerFileSetMode(viewer, mode), "PetscViewerFileSetMode");
  succeeded(PetscViewerFileSetName(viewer, name), "PetscViewerFileSetName");
  return viewer;
}

static void close_viewer(PetscViewer viewer) { succeeded(PetscViewerDestroy(&viewer), "PetscViewerDestroy"); }

static void view_or_load_vector(PetscViewer viewer, PetscInt rows, int number, int loading) {
  PetscInt first;
  PetscScalar* values;
  PetscBool same = PETSC_TRUE;
  Vec vector, loaded;
  succeeded(VecCreateMPI(PETSC_COMM_WORLD, rows, PETSC_DETERMINE, &vector), "VecCreateMPI");
  succeeded(VecGetOwnershipRange(vector, &first, NULL), "VecGetOwnershipRange");
  succeeded(VecGetArray(vector, &values), "VecGetArray");
  for (PetscInt i = 0; i < rows; ++i) values[i] = element(number, (int)(first + i));
  succeeded(VecRestoreArray(vector, &values), "VecRestoreArray");
  if (loading) {
    succeeded(VecDuplicate(vector, &loaded), "VecDuplicate");
    succeeded(VecLoad(loaded, viewer), "VecLoad");
    succeeded(VecEqual(vector, loaded, &same), "VecEqual");
    succeeded(VecDestroy(&loaded), "VecDestroy");
  } else {
    succeeded(VecView(vector, viewer), "VecView");
    stored += all_rows(rows) * (long long)sizeof(PetscScalar);
  }
  must(same, "VecLoad: other values");
  succeeded(VecDestroy(&vector), "VecDestroy");
}

static Mat create_matrix(MatType type, PetscInt columns) {
  Mat matrix;
  succeeded(MatCreate(PETSC_COMM_WORLD, &matrix), "MatCreate");
  succeeded(MatSetSizes(matrix, uneven_rows(), PETSC_DECIDE, PETSC_DETERMINE, columns), "MatSetSizes");
  succeeded(MatSetType(matrix, type), "MatSetType");
  return matrix;
}

/* Every column of a dense matrix, those around the diagonal of a sparse one. */
static void fill_matrix(Mat matrix, int dense, PetscInt columns) {
  PetscInt first, end;
  succeeded(MatSetUp(matrix), "MatSetUp");
  succeeded(MatGetOwnershipRange(matrix, &first, &end), "MatGetOwnershipRange");
  for (PetscInt row = first; row < end; ++row)
    for (PetscInt column = dense ? 0 : row - BAND; column < (dense ? columns : row + BAND); ++column)
      if (column >= 0 && column < columns)
        succeeded(MatSetValue(matrix, row, column, element((int)row, (int)column), INSERT_VALUES),
                  "MatSetValue");
  succeeded(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY), "MatAssemblyBegin");
  succeeded(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY), "MatAssemblyEnd");
}

static void view_or_load_matrix(PetscViewer viewer, int dense, int loading) {
  const PetscInt columns = dense ? COLUMNS : all_rows(uneven_rows());
  PetscBool same = PETSC_TRUE;
  MatInfo information;
  Mat matrix = create_matrix(dense ? MATDENSE : MATAIJ, columns), loaded;
  fill_matrix(matrix, dense, columns);
  if (loading) {
    loaded = create_matrix(dense ? MATDENSE : MATAIJ, columns);
    succeeded(MatLoad(loaded, viewer), "MatLoad");
    succeeded(MatEqual(matrix, loaded, &same), "MatEqual");
    succeeded(MatDestroy(&loaded), "MatDestroy");
  } else {
    succeeded(MatView(matrix, viewer), "MatView");
    succeeded(MatGetInfo(matrix, MAT_GLOBAL_SUM, &information), "MatGetInfo");
    stored += (long long)information.nz_used * (long long)sizeof(PetscScalar);
  }
  must(same, "MatLoad: other values");
  succeeded(MatDestroy(&matrix), "MatDestroy");
}

typedef void Transfer(PetscViewer viewer, int loading);

static void transfer_vectors(PetscViewer viewer, int loading) {
  for (int number = 0; number < VECTORS; ++number)
    view_or_load_vector(viewer, uneven_rows(), number, loading);
}

static void transfer_first_ranks_vectors(PetscViewer viewer, int loading) {
  for (int number = 0; number < VECTORS; ++number)
    view_or_load_vector(viewer, rank == 0 ? 500 : 0, number, loading);
}

static void transfer_sparse(PetscViewer viewer, int loading) { view_or_load_matrix(viewer, 0, loading); }

static void transfer_dense(PetscViewer viewer, int loading) { view_or_load_matrix(viewer, 1, loading); }

static void transfer_mixed(PetscViewer viewer, int loading) {
  view_or_load_vector(viewer, uneven_rows(), 7, loading);
  view_or_load_matrix(viewer, 0, loading);
  view_or_load_vector(viewer, uneven_rows(), 8, loading);
  view_or_load_matrix(viewer, 1, loading);
}

/* By rank 0. */
static void compare_files(const char* one, const char* other) {
  FILE *a = fopen(one, "rb"), *b = fopen(other, "rb");
  int from_a, from_b;
  must(a != NULL && b != NULL, one);
  do {
    from_a = getc(a), from_b = getc(b);
    must(from_a == from_b, one);
  } while (from_a != EOF);
  fclose(a), fclose(b);
}

static void say_hints_of(PetscViewer viewer) {
  MPI_File file;
  MPI_Info info;
  succeeded(PetscViewerBinaryGetMPIIODescriptor(viewer, &file), "PetscViewerBinaryGetMPIIODescriptor");
  must(MPI_File_get_info(file, &info) == MPI_SUCCESS, "MPI_File_get_info");
  say_hints(info);
  MPI_Info_free(&info);
}

static void run_case(const char* name, Transfer* transfer, Transfer* append) {
  const char* without = "without-mpiio";
  PetscViewer viewer = open_viewer(name, FILE_MODE_WRITE, PETSC_TRUE);
  say_case(name);
  say_hints_of(viewer);
  stored = 0;
  transfer(viewer, 0);
  close_viewer(viewer);
  if (append != NULL) {
    viewer = open_viewer(name, FILE_MODE_APPEND, PETSC_TRUE);
    append(viewer, 0);
    close_viewer(viewer);
  }
  say_stored(stored);

  viewer = open_viewer(name, FILE_MODE_READ, PETSC_TRUE);
  transfer(viewer, 1);
  if (append != NULL) append(viewer, 1);
  close_viewer(viewer);

  viewer = open_viewer(without, FILE_MODE_WRITE, PETSC_FALSE);
  transfer(viewer, 0);
  if (append != NULL) append(viewer, 0);
  close_viewer(viewer);
  if (rank == 0) compare_files(name, without);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  succeeded(PetscInitialize(&argc, &argv, NULL, NULL), "PetscInitialize");
  run_case("vectors.petsc", transfer_vectors, NULL);
  run_case("vectors-of-first-rank.petsc", transfer_first_ranks_vectors, NULL);
  run_case("vectors-appended.petsc", transfer_vectors, transfer_first_ranks_vectors);
  run_case("sparse-matrix.petsc", transfer_sparse, NULL);
  run_case("dense-matrix.petsc", transfer_dense, NULL);
  run_case("mixed.petsc", transfer_mixed, NULL);
  succeeded(PetscFinalize(), "PetscFinalize");
  finish();
  return 0;
}
