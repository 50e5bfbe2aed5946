/* PnetCDF: collective, independent, nonblocking and buffered puts of fixed and record variables; the same
 * through its own burst buffer, where it is built with that. */
#include <pnetcdf.h>
#include <string.h>

#include "client.h"

enum { STEPS = 4, OWN_RECORDS = 6 };

static void succeeded(int code, const char* what) {
  if (code != NC_NOERR) fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(code));
  must(code == NC_NOERR, what);
}

/* Step of a variable: the rank's records, as rows rank, rank + ranks, ... of it. */
typedef void Put(int file, int variable, int step, float* data);

static void place(int row, MPI_Offset* start_at, MPI_Offset* count, int step) {
  start_at[0] = step, start_at[1] = rank + row * ranks, start_at[2] = 0;
  count[0] = 1, count[1] = 1, count[2] = RECORD_FLOATS;
}

static int record_of(int variable, int step, int row, int of_rank) {
  return ((variable * STEPS + step) * OWN_RECORDS + row) * ranks + of_rank;
}

static void put_collective(int file, int variable, int step, float* data) {
  const MPI_Offset at[3] = {step, rank, 0}, count[3] = {1, OWN_RECORDS, RECORD_FLOATS},
                   stride[3] = {1, ranks, 1};
  succeeded(ncmpi_put_vars_float_all(file, variable, at, count, stride, data), "put_vars_all");
}

static void put_rows(int file, int variable, int step, float* data) {
  for (int row = 0; row < OWN_RECORDS; ++row) {
    MPI_Offset at[3], count[3];
    place(row, at, count, step);
    succeeded(ncmpi_put_vara_float_all(file, variable, at, count, data + row * RECORD_FLOATS),
              "put_vara_all");
  }
}

static void put_independent(int file, int variable, int step, float* data) {
  succeeded(ncmpi_begin_indep_data(file), "begin_indep_data");
  for (int row = 0; row < OWN_RECORDS; ++row) {
    MPI_Offset at[3], count[3];
    place(row, at, count, step);
    succeeded(ncmpi_put_vara_float(file, variable, at, count, data + row * RECORD_FLOATS), "put_vara");
  }
  succeeded(ncmpi_end_indep_data(file), "end_indep_data");
}

static void put_nonblocking(int file, int variable, int step, float* data) {
  int requests[OWN_RECORDS], codes[OWN_RECORDS];
  for (int row = 0; row < OWN_RECORDS; ++row) {
    MPI_Offset at[3], count[3];
    place(row, at, count, step);
    succeeded(ncmpi_iput_vara_float(file, variable, at, count, data + row * RECORD_FLOATS, &requests[row]),
              "iput_vara");
  }
  succeeded(ncmpi_wait_all(file, OWN_RECORDS, requests, codes), "wait_all");
  for (int row = 0; row < OWN_RECORDS; ++row) succeeded(codes[row], "iput_vara's status");
}

static void put_buffered(int file, int variable, int step, float* data) {
  succeeded(ncmpi_buffer_attach(file, OWN_RECORDS * RECORD_BYTES), "buffer_attach");
  for (int row = 0; row < OWN_RECORDS; ++row) {
    MPI_Offset at[3], count[3];
    place(row, at, count, step);
    succeeded(ncmpi_bput_vara_float(file, variable, at, count, data + row * RECORD_FLOATS, NULL),
              "bput_vara");
  }
  memset(data, 0, OWN_RECORDS * RECORD_BYTES);
  succeeded(ncmpi_wait_all(file, NC_PUT_REQ_ALL, NULL, NULL), "wait_all");
  succeeded(ncmpi_buffer_detach(file), "buffer_detach");
}

static void say_info_of(int file) {
  MPI_Info info;
  succeeded(ncmpi_inq_file_info(file, &info), "inq_file_info");
  say_hints(info);
  MPI_Info_free(&info);
}

static void define(int file, int* variables) {
  int fixed[3], records[3];
  succeeded(ncmpi_def_dim(file, "time", NC_UNLIMITED, &records[0]), "def_dim");
  succeeded(ncmpi_def_dim(file, "step", STEPS, &fixed[0]), "def_dim");
  succeeded(ncmpi_def_dim(file, "cell", OWN_RECORDS * ranks, &fixed[1]), "def_dim");
  succeeded(ncmpi_def_dim(file, "level", RECORD_FLOATS, &fixed[2]), "def_dim");
  records[1] = fixed[1], records[2] = fixed[2];
  succeeded(ncmpi_def_var(file, "fixed", NC_FLOAT, 3, fixed, &variables[0]), "def_var");
  succeeded(ncmpi_def_var(file, "records", NC_FLOAT, 3, records, &variables[1]), "def_var");
}

static void fill_step(float* data, int variable, int step, int of_rank) {
  for (int row = 0; row < OWN_RECORDS; ++row)
    fill_record(data + row * RECORD_FLOATS, record_of(variable, step, row, of_rank));
}

/* Reads what the next rank wrote. */
static void check(const char* name, const int* variables) {
  float* data = allocate(OWN_RECORDS * RECORD_BYTES);
  const int neighbour = (rank + 1) % ranks;
  int file;
  succeeded(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  for (int v = 0; v < 2; ++v)
    for (int step = 0; step < STEPS; ++step) {
      const MPI_Offset at[3] = {step, neighbour, 0}, count[3] = {1, OWN_RECORDS, RECORD_FLOATS},
                       stride[3] = {1, ranks, 1};
      succeeded(ncmpi_get_vars_float_all(file, variables[v], at, count, stride, data), "get_vars_all");
      for (int row = 0; row < OWN_RECORDS; ++row)
        check_record(data + row * RECORD_FLOATS, record_of(v, step, row, neighbour), name);
    }
  succeeded(ncmpi_close(file), "close");
  free(data);
}

/* The burst buffer of rank 0 is there, and has something in it. */
static void check_burst_buffer(const char* name, int file) {
  char path[128];
  if (rank != 0) return;
  snprintf(path, sizeof path, "%s_%d_0.data", name, file);
  FILE* buffer = fopen(path, "rb");
  must(buffer != NULL && fseek(buffer, 0, SEEK_END) == 0 && ftell(buffer) >= RECORD_BYTES, path);
  fclose(buffer);
}

static void run_case(const char* name, Put* put, MPI_Info hints) {
  float* data = allocate(OWN_RECORDS * RECORD_BYTES);
  int file, variables[2];
  say_case(name);
  succeeded(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, hints, &file), "create");
  define(file, variables);
  succeeded(ncmpi_enddef(file), "enddef");
  say_info_of(file);
  for (int step = 0; step < STEPS; ++step) {
    for (int v = 0; v < 2; ++v) {
      fill_step(data, v, step, rank);
      put(file, variables[v], step, data);
      if (hints != MPI_INFO_NULL) check_burst_buffer(name, file);
    }
    /* The header grows, and all data moves. */
    if (step == 1) {
      succeeded(ncmpi_redef(file), "redef");
      succeeded(ncmpi_put_att_text(file, NC_GLOBAL, "title", strlen(name), name), "put_att_text");
      succeeded(ncmpi_enddef(file), "enddef");
    }
    succeeded(ncmpi_sync(file), "sync");
  }
  say_stored(2LL * STEPS * OWN_RECORDS * ranks * RECORD_BYTES);
  succeeded(ncmpi_close(file), "close");
  check(name, variables);
  free(data);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  run_case("put-vars-all.nc", put_collective, MPI_INFO_NULL);
  run_case("put-vara-all.nc", put_rows, MPI_INFO_NULL);
  run_case("put-independent.nc", put_independent, MPI_INFO_NULL);
  run_case("iput-wait-all.nc", put_nonblocking, MPI_INFO_NULL);
  run_case("bput-wait-all.nc", put_buffered, MPI_INFO_NULL);
#if PNETCDF_BURST_BUFFERING
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "nc_burst_buf", "enable");
  MPI_Info_set(hints, "nc_burst_buf_dirname", ".");
  MPI_Info_set(hints, "nc_burst_buf_overwrite", "enable");
  run_case("burst-buffer.nc", put_rows, hints);
  run_case("burst-buffer-independent.nc", put_independent, hints);
  run_case("burst-buffer-nonblocking.nc", put_nonblocking, hints);
  MPI_Info_free(&hints);
#endif
  finish();
  return 0;
}
