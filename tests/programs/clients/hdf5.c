/* Parallel HDF5: transfers, metadata, layouts, filters, file space strategies; flush, reopen, extend. */
#include "hdf5_file.h"

enum { OWN_RECORDS = 8, STEPS = 3 };

typedef struct {
  const char* file;
  int collective, collective_metadata;
  hsize_t chunk; /* records per chunk, 0: contiguous */
  int deflate, extend;
  H5F_fspace_strategy_t strategy;
  int persist; /* free space is kept in the file */
} Case;

#define AGGREGATED H5F_FSPACE_STRATEGY_FSM_AGGR, 0
static const Case cases[] = {
    {"independent.h5", 0, 0, 0, 0, 0, AGGREGATED},
    {"collective.h5", 1, 0, 0, 0, 0, AGGREGATED},
    {"independent-collective-metadata.h5", 0, 1, 0, 0, 0, AGGREGATED},
    {"collective-collective-metadata.h5", 1, 1, 0, 0, 0, AGGREGATED},
    {"chunked-independent.h5", 0, 0, 3, 0, 0, AGGREGATED},
    {"chunked-collective.h5", 1, 0, 3, 0, 0, AGGREGATED},
    {"deflate.h5", 1, 0, 3, 1, 0, AGGREGATED},
    {"deflate-extended.h5", 1, 1, 4, 1, 1, AGGREGATED},
    {"extended-independent.h5", 0, 0, 4, 0, 1, AGGREGATED},
    {"extended-collective.h5", 1, 1, 4, 0, 1, AGGREGATED},
    {"space-page.h5", 1, 0, 4, 0, 1, H5F_FSPACE_STRATEGY_PAGE, 0},
    {"space-page-persist.h5", 1, 1, 4, 0, 1, H5F_FSPACE_STRATEGY_PAGE, 1},
    {"space-aggregated-persist.h5", 1, 0, 4, 0, 1, H5F_FSPACE_STRATEGY_FSM_AGGR, 1},
    {"space-aggregated-only.h5", 0, 1, 4, 0, 1, H5F_FSPACE_STRATEGY_AGGR, 0},
    {"space-none.h5", 0, 0, 4, 0, 1, H5F_FSPACE_STRATEGY_NONE, 0},
};

static int first_of(int step, int of_rank) { return step * OWN_RECORDS * ranks + of_rank; }

/* Independent: a hyperslab of one record per call. Collective: all of the rank's records in one. */
static void write_step(const Case* c, hid_t set, int step) {
  const int calls = c->collective ? 1 : OWN_RECORDS, count = OWN_RECORDS / calls;
  float* data = allocate((size_t)count * RECORD_BYTES);
  hid_t transfer = transfer_list(c->collective), memory = record_memory((hsize_t)count);
  for (int call = 0; call < calls; ++call) {
    const int first = first_of(step, rank) + call * ranks;
    for (int i = 0; i < count; ++i) fill_record(data + (size_t)i * RECORD_FLOATS, first + i * ranks);
    hid_t space = select_records(set, (hsize_t)first, (hsize_t)ranks, (hsize_t)count);
    must(H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, transfer, data) >= 0, "H5Dwrite");
    H5Sclose(space);
  }
  H5Sclose(memory);
  H5Pclose(transfer);
  free(data);
}

/* Reads what the next rank wrote. */
static void check_step(const Case* c, hid_t set, int step) {
  float* data = allocate((size_t)OWN_RECORDS * RECORD_BYTES);
  const int first = first_of(step, (rank + 1) % ranks);
  hid_t transfer = transfer_list(c->collective), memory = record_memory(OWN_RECORDS);
  hid_t space = select_records(set, (hsize_t)first, (hsize_t)ranks, OWN_RECORDS);
  MPI_Barrier(MPI_COMM_WORLD);
  must(H5Dread(set, H5T_NATIVE_FLOAT, memory, space, transfer, data) >= 0, "H5Dread");
  for (int i = 0; i < OWN_RECORDS; ++i)
    check_record(data + (size_t)i * RECORD_FLOATS, first + i * ranks, c->file);
  H5Sclose(space);
  H5Sclose(memory);
  H5Pclose(transfer);
  free(data);
}

static void extend(hid_t set, int steps) {
  const hsize_t size[2] = {(hsize_t)first_of(steps, 0), RECORD_FLOATS};
  must(H5Dset_extent(set, size) >= 0, "H5Dset_extent");
}

static void annotate(hid_t file) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(file, "ranks", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  must(H5Awrite(attribute, H5T_NATIVE_INT, &ranks) >= 0, "H5Awrite");
  H5Aclose(attribute);
  H5Sclose(space);
}

static hid_t create_file(const Case* c) {
  hid_t creation = H5Pcreate(H5P_FILE_CREATE), access = access_list(c->collective_metadata);
  must(H5Pset_obj_track_times(creation, 0) >= 0, "H5Pset_obj_track_times");
  must(H5Pset_file_space_strategy(creation, c->strategy, c->persist, 1) >= 0, "H5Pset_file_space_strategy");
  hid_t file = H5Fcreate(c->file, H5F_ACC_TRUNC, creation, access);
  must(file >= 0, "H5Fcreate");
  H5Pclose(access);
  H5Pclose(creation);
  return file;
}

/* All steps but the last; the last one is written after close and reopen. */
static void create_and_write(const Case* c) {
  hid_t file = create_file(c);
  say_file_hints(file);
  const hsize_t all = (hsize_t)first_of(STEPS, 0);
  hid_t set = create_records(file, "records", c->extend ? (hsize_t)first_of(1, 0) : all,
                             c->extend ? H5S_UNLIMITED : all, c->chunk, c->deflate);
  write_step(c, set, 0);
  must(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush");
  check_step(c, set, 0);
  for (int step = 1; step < STEPS - 1; ++step) {
    if (c->extend) extend(set, step + 1);
    write_step(c, set, step);
  }
  annotate(file);
  H5Dclose(set);
  must(H5Fclose(file) >= 0, "H5Fclose");
}

static void reopen_and_complete(const Case* c) {
  hid_t access = access_list(c->collective_metadata);
  hid_t file = H5Fopen(c->file, H5F_ACC_RDWR, access);
  must(file >= 0, "H5Fopen");
  hid_t set = H5Dopen2(file, "records", H5P_DEFAULT);
  if (c->extend) extend(set, STEPS);
  write_step(c, set, STEPS - 1);
  for (int step = 0; step < STEPS; ++step) check_step(c, set, step);
  say_stored((long long)H5Dget_storage_size(set));
  H5Dclose(set);
  must(H5Fclose(file) >= 0, "H5Fclose");
  H5Pclose(access);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    say_case(cases[i].file);
    create_and_write(&cases[i]);
    reopen_and_complete(&cases[i]);
  }
  finish();
  return 0;
}
