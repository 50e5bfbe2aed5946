/* OLAM's pattern: a variable is a column of 1,312 bytes per cell of an unstructured grid; a rank has cells
 * all over it, and writes each variable through one selection of many small hyperslabs, or a call for each.
 */
#include "hdf5_file.h"

enum { CELLS = 240, VARIABLES = 6 };

/* Scattered over the ranks, each of which has some in every run. */
static int owner(int cell) { return (int)((unsigned)cell * 2654435761u >> 16) % ranks; }

static int own_cells(int* cells, int of_rank) {
  int count = 0;
  for (int cell = 0; cell < CELLS; ++cell)
    if (owner(cell) == of_rank) cells[count++] = cell;
  return count;
}

static hid_t select_cells(hid_t set, const int* cells, int count) {
  hid_t space = H5Dget_space(set);
  must(H5Sselect_none(space) >= 0, "H5Sselect_none");
  for (int i = 0; i < count; ++i) {
    const hsize_t first[2] = {(hsize_t)cells[i], 0}, size[2] = {1, RECORD_FLOATS};
    must(H5Sselect_hyperslab(space, H5S_SELECT_OR, first, NULL, size, NULL) >= 0, "H5Sselect_hyperslab");
  }
  return space;
}

static int record_of(int variable, int cell) { return variable * CELLS + cell; }

static void write_variable(hid_t set, int variable, int collective) {
  int cells[CELLS];
  const int count = own_cells(cells, rank), calls = collective ? 1 : count, per_call = collective ? count : 1;
  float* data = allocate((size_t)CELLS * RECORD_BYTES);
  hid_t transfer = transfer_list(collective), memory = record_memory((hsize_t)per_call);
  for (int i = 0; i < count; ++i)
    fill_record(data + (size_t)i * RECORD_FLOATS, record_of(variable, cells[i]));
  for (int call = 0; call < calls; ++call) {
    hid_t space = select_cells(set, cells + call, per_call);
    const float* from = data + (size_t)call * RECORD_FLOATS;
    must(H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, transfer, from) >= 0, "H5Dwrite");
    H5Sclose(space);
  }
  H5Sclose(memory);
  H5Pclose(transfer);
  free(data);
}

/* Reads the cells of the next rank. */
static void check_variable(hid_t set, int variable, int collective) {
  int cells[CELLS];
  const int count = own_cells(cells, (rank + 1) % ranks);
  float* data = allocate((size_t)CELLS * RECORD_BYTES);
  hid_t transfer = transfer_list(collective), memory = record_memory((hsize_t)count);
  hid_t space = select_cells(set, cells, count);
  MPI_Barrier(MPI_COMM_WORLD);
  must(H5Dread(set, H5T_NATIVE_FLOAT, memory, space, transfer, data) >= 0, "H5Dread");
  for (int i = 0; i < count; ++i)
    check_record(data + (size_t)i * RECORD_FLOATS, record_of(variable, cells[i]), "H5Dread");
  H5Sclose(space);
  H5Sclose(memory);
  H5Pclose(transfer);
  free(data);
}

static void run_case(const char* name, int collective) {
  hid_t access = access_list(0), sets[VARIABLES];
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  must(file >= 0, "H5Fcreate");
  say_case(name);
  say_file_hints(file);
  say_stored((long long)VARIABLES * CELLS * RECORD_BYTES);
  for (int v = 0; v < VARIABLES; ++v) {
    char variable[16];
    snprintf(variable, sizeof variable, "variable%d", v);
    sets[v] = create_records(file, variable, CELLS, CELLS, 0, 0);
    write_variable(sets[v], v, collective);
  }
  for (int v = 0; v < VARIABLES; ++v) {
    check_variable(sets[v], v, collective);
    H5Dclose(sets[v]);
  }
  must(H5Fclose(file) >= 0, "H5Fclose");
  H5Pclose(access);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  run_case("olam-collective.h5", 1);
  run_case("olam-independent.h5", 0);
  finish();
  return 0;
}
