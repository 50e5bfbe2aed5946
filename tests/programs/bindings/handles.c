/* The C side of files.F90: handles and statuses cross from Fortran to C and back. Errors end the job. */
#include <mpi.h>
#include <stdio.h>

static void must(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "handles.c: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Writes through a file that Fortran opened. */
void c_write_(const MPI_Fint* file, const MPI_Offset* offset, const int* value) {
  MPI_File c_file = MPI_File_f2c(*file);
  must(MPI_File_c2f(c_file) == *file, "MPI_File_c2f gives another handle");
  must(MPI_File_write_at(c_file, *offset, value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at");
}

/* Starts a write whose request Fortran completes. */
void c_start_write_(const MPI_Fint* file, const MPI_Offset* offset, const int* value, MPI_Fint* request) {
  MPI_Request c_request;
  must(MPI_File_iwrite_at(MPI_File_f2c(*file), *offset, value, 1, MPI_INT, &c_request) == MPI_SUCCESS,
       "iwrite_at");
  *request = MPI_Request_c2f(c_request);
}

/* Completes a request of Fortran's; the status goes back, unless Fortran asked for none. */
void c_wait_(MPI_Fint* request, MPI_Fint* status) {
  MPI_Request c_request = MPI_Request_f2c(*request);
  MPI_Status c_status;
  must(MPI_Wait(&c_request, &c_status) == MPI_SUCCESS, "wait");
  must(c_request == MPI_REQUEST_NULL, "a request after wait");
  *request = MPI_Request_c2f(c_request);
  if (status != MPI_F_STATUS_IGNORE) must(MPI_Status_c2f(&c_status, status) == MPI_SUCCESS, "status_c2f");
}

/* How many ints a status of Fortran's is about. */
int c_count_(const MPI_Fint* status) {
  MPI_Status c_status;
  int count = -1;
  must(MPI_Status_f2c(status, &c_status) == MPI_SUCCESS, "status_f2c");
  MPI_Get_count(&c_status, MPI_INT, &count);
  return count;
}
