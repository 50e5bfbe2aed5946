/* The arrays are one contiguous HDF5 dataset of two dimensions, a tile is a hyperslab of it. */
#include <hdf5.h>

#include "access.h"

struct opened {
  hid_t file, set, transfer;
};
static struct opened opened;

static hid_t valid(hid_t id, const char* what) {
  if (id < 0) fail(what);
  return id;
}

static hid_t create_set(const struct strided* s, hid_t file) {
  const hsize_t size[2] = {(hsize_t)(array_rows(s) * calls(s)), (hsize_t)(row_bytes(s) / 8)};
  hid_t space = valid(H5Screate_simple(2, size, NULL), "H5Screate_simple");
  hid_t creation = valid(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  hid_t set = valid(H5Dcreate2(file, "arrays", H5T_NATIVE_UINT64, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                    "H5Dcreate2");
  H5Pclose(creation);
  H5Sclose(space);
  return set;
}

void access_open(struct access* access, const char* path, int is_there) {
  access->file = &opened;
  const struct strided* s = access->pattern;
  if (s->pieces || s->dimensions || s->segmented || s->order_step || s->writers != s->ranks)
    fail("HDF5's arrays are --block, --blocks-per-call and --grid-columns only");
  hid_t list = valid(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  if (H5Pset_fapl_mpio(list, MPI_COMM_WORLD, access->info) < 0) fail("H5Pset_fapl_mpio");
  H5Pset_all_coll_metadata_ops(list, 1);
  H5Pset_coll_metadata_write(list, 1);
  opened.file = is_there ? valid(H5Fopen(path, H5F_ACC_RDWR, list), "H5Fopen")
                         : valid(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list), "H5Fcreate");
  H5Pclose(list);
  opened.set = is_there ? valid(H5Dopen2(opened.file, "arrays", H5P_DEFAULT), "H5Dopen2")
                        : create_set(access->pattern, opened.file);
  opened.transfer = valid(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
  H5Pset_dxpl_mpio(opened.transfer, access->independent ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
}

void access_select(struct access* access, int owner) {
  (void)access;
  (void)owner;
}

void access_call(struct access* access, int owner, MPI_Offset call, int writing) {
  const struct strided* s = access->pattern;
  const hsize_t start[2] = {(hsize_t)(call * array_rows(s) + tile_row(s, owner)),
                            (hsize_t)(tile_byte(s, owner) / 8)};
  const hsize_t count[2] = {(hsize_t)s->blocks_per_call, (hsize_t)(s->block_bytes / 8)};
  uint64_t* data = s->data + call * (call_bytes(s) / 8);
  hid_t space = valid(H5Dget_space(opened.set), "H5Dget_space");
  hid_t memory = valid(H5Screate_simple(2, count, NULL), "H5Screate_simple");
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0) fail("H5Sselect_hyperslab");
  const herr_t error = writing ? H5Dwrite(opened.set, H5T_NATIVE_UINT64, memory, space, opened.transfer, data)
                               : H5Dread(opened.set, H5T_NATIVE_UINT64, memory, space, opened.transfer, data);
  if (error < 0) fail(writing ? "H5Dwrite" : "H5Dread");
  H5Sclose(memory);
  H5Sclose(space);
}

MPI_Offset access_close(struct access* access) {
  (void)access;
  const haddr_t begin = H5Dget_offset(opened.set);
  if (begin == HADDR_UNDEF) fail("the dataset has no place in the file");
  H5Pclose(opened.transfer);
  H5Dclose(opened.set);
  if (H5Fclose(opened.file) < 0) fail("H5Fclose");
  return (MPI_Offset)begin;
}
