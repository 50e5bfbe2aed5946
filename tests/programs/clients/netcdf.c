/* netCDF in parallel: the netCDF-4 format on HDF5, and, where the library has PnetCDF below it, the 64-bit
 * data format. */
#include <netcdf.h>
#include <netcdf_meta.h>
#include <netcdf_par.h>

#include "client.h"

enum { STEPS = 3, OWN_RECORDS = 6, CHUNK = 4 };

typedef struct {
  const char* file;
  int format, access;
  int unlimited, chunked, deflate;
} Case;

static const Case cases[] = {
    {"collective.nc", NC_NETCDF4, NC_COLLECTIVE, 0, 0, 0},
    {"independent.nc", NC_NETCDF4, NC_INDEPENDENT, 0, 0, 0},
    {"chunked-collective.nc", NC_NETCDF4, NC_COLLECTIVE, 0, 1, 0},
    {"chunked-independent.nc", NC_NETCDF4, NC_INDEPENDENT, 0, 1, 0},
    {"unlimited.nc", NC_NETCDF4, NC_COLLECTIVE, 1, 1, 0},
    {"deflate.nc", NC_NETCDF4, NC_COLLECTIVE, 1, 1, 1},
#if NC_HAS_PNETCDF
    {"64-bit-data-collective.nc", NC_64BIT_DATA, NC_COLLECTIVE, 1, 0, 0},
    {"64-bit-data-independent.nc", NC_64BIT_DATA, NC_INDEPENDENT, 0, 0, 0},
#endif
};

static void succeeded(int code, const char* what) {
  if (code != NC_NOERR) fprintf(stderr, "%s: %s\n", what, nc_strerror(code));
  must(code == NC_NOERR, what);
}

static void define(const Case* c, int file, int* variable) {
  const size_t chunk[3] = {1, CHUNK, RECORD_FLOATS / 2};
  int dimensions[3];
  succeeded(nc_def_dim(file, "time", c->unlimited ? NC_UNLIMITED : STEPS, &dimensions[0]), "def_dim");
  succeeded(nc_def_dim(file, "cell", (size_t)OWN_RECORDS * (size_t)ranks, &dimensions[1]), "def_dim");
  succeeded(nc_def_dim(file, "level", RECORD_FLOATS, &dimensions[2]), "def_dim");
  succeeded(nc_def_var(file, "values", NC_FLOAT, 3, dimensions, variable), "def_var");
  if (c->chunked) succeeded(nc_def_var_chunking(file, *variable, NC_CHUNKED, chunk), "def_var_chunking");
  if (c->deflate) succeeded(nc_def_var_deflate(file, *variable, 1, 1, 4), "def_var_deflate");
  succeeded(nc_enddef(file), "enddef");
  succeeded(nc_var_par_access(file, *variable, c->access), "var_par_access");
}

static int record_of(int step, int row, int of_rank) { return (step * OWN_RECORDS + row) * ranks + of_rank; }

static void write_case(const Case* c) {
  float* data = allocate(OWN_RECORDS * RECORD_BYTES);
  int file, variable;
  succeeded(nc_create_par(c->file, NC_CLOBBER | c->format, MPI_COMM_WORLD, MPI_INFO_NULL, &file),
            "create_par");
  define(c, file, &variable);
  for (int step = 0; step < STEPS; ++step) {
    const size_t at[3] = {(size_t)step, (size_t)rank, 0}, count[3] = {1, OWN_RECORDS, RECORD_FLOATS};
    const ptrdiff_t stride[3] = {1, ranks, 1};
    for (int row = 0; row < OWN_RECORDS; ++row)
      fill_record(data + row * RECORD_FLOATS, record_of(step, row, rank));
    succeeded(nc_put_vars_float(file, variable, at, count, stride, data), "put_vars");
    succeeded(nc_sync(file), "sync");
  }
  succeeded(nc_close(file), "close");
  free(data);
}

/* Reads what the next rank wrote. */
static void check_case(const Case* c) {
  float data[RECORD_FLOATS];
  const int neighbour = (rank + 1) % ranks;
  int file, variable;
  succeeded(nc_open_par(c->file, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "open_par");
  succeeded(nc_inq_varid(file, "values", &variable), "inq_varid");
  succeeded(nc_var_par_access(file, variable, c->access), "var_par_access");
  for (int step = 0; step < STEPS; ++step)
    for (int row = 0; row < OWN_RECORDS; ++row) {
      const size_t at[3] = {(size_t)step, (size_t)(neighbour + row * ranks), 0},
                   count[3] = {1, 1, RECORD_FLOATS};
      succeeded(nc_get_vara_float(file, variable, at, count, data), "get_vara");
      check_record(data, record_of(step, row, neighbour), c->file);
    }
  succeeded(nc_close(file), "close");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    say_case(cases[i].file);
    write_case(&cases[i]);
    check_case(&cases[i]);
    /* What deflate stores is the library's affair. */
    if (!cases[i].deflate) say_stored((long long)STEPS * OWN_RECORDS * ranks * RECORD_BYTES);
  }
  finish();
  return 0;
}
